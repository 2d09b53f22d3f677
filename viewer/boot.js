// boot.js - unpacks the viewer: the page holds its style and script compressed. It stands in the page as an inline script.
// The page's policy names this text, the style and the script by their hashes: nothing else can be put in by this way.
(() => {
  const packed = document.getElementById('packed'), headline = document.getElementById('headline');
  const fail = (text) => {
    document.documentElement.dataset.ready = 'no';
    headline.textContent = text;
  };
  const unpack = async () => {
    const given = packed.textContent, start = given.indexOf(' ') + 1, bytes = new Uint8Array(Number(given.slice(0, start)));
    let held = 0, nHeld = 0, n = 0;
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
    const text = await new Response(stream).text(), end = '</style>', at = text.indexOf(end), makes = { createScript: (script) => script };
    const style = document.createElement('style'), script = document.createElement('script');
    style.textContent = text.slice(0, at);
    document.head.append(style);
    script.type = 'module';
    script.id = 'viewer';
    script.textContent = (self.trustedTypes ? self.trustedTypes.createPolicy('tidemark-unpack', makes) : makes).createScript(text.slice(at + end.length));
    packed.replaceWith(script);
  };
  if (typeof DecompressionStream === 'undefined') {
    fail('This browser cannot open the page: it has no DecompressionStream. Chrome from 80, Firefox from 113 and Safari from 16.4 do.');
  } else {
    unpack().catch((problem) => fail(`The viewer in this page is damaged (${problem.message}).`));
  }
})();
