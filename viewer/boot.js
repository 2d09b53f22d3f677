// boot.js - unpacks the viewer: the page holds its style, body and script compressed. It stands in the page as an inline script.
// The page's policy names this text, the style and the script by their hashes: no other script can be put in by this way.
(() => {
  const packed = document.getElementById('packed');
  const fail = (text) => {
    document.documentElement.dataset.ready = 'no';
    document.getElementById('headline').textContent = text;
  };
  const unpack = async () => {
    const given = packed.textContent,
      start = given.indexOf(' ') + 1,
      bytes = new Uint8Array(Number(given.slice(0, start)));
    let held = 0,
      nHeld = 0,
      n = 0;
    // Seven bits after the other; pack.c says which stand for themselves.
    const take = (seven) => {
      held = (held << 7) | seven;
      nHeld += 7;
      if (nHeld >= 8) bytes[n++] = held >> (nHeld -= 8);
      held &= (1 << nHeld) - 1;
    };
    for (let i = start; i < given.length; i++) {
      const c = given.charCodeAt(i);
      if (c > 127) take([0, 13, 60][(c >> 7) - 1]);
      take(c & 127);
    }
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    const [rules, body, code] = (await new Response(stream).text()).split('<!--NEXT-->'),
      same = (text) => text,
      makes = { createScript: same, createHTML: same };
    const style = document.createElement('style'),
      script = document.createElement('script');
    const policy = self.trustedTypes ? self.trustedTypes.createPolicy('tidemark-unpack', makes) : makes;
    style.textContent = rules;
    document.head.append(style);
    document.getElementById('headline').outerHTML = policy.createHTML(body);
    script.type = 'module';
    script.id = 'viewer';
    script.textContent = policy.createScript(code);
    packed.replaceWith(script);
  };
  if (typeof DecompressionStream === 'undefined') {
    fail(
      'This browser cannot open the page: it has no DecompressionStream. Chrome from 80, Firefox from 113 and Safari from 16.4 do.',
    );
  } else {
    unpack().catch((problem) => fail(`The viewer in this page is damaged (${problem.message}).`));
  }
})();
