// boot.js - starts the viewer, whose style and script the page holds compressed, with "<script>" between
// them. The page's policy names the hashes of these and of this script: no other style applies, and no
// other script runs.
(() => {
  const packed = document.getElementById('packed');
  const fail = (text) => {
    document.documentElement.dataset.ready = 'no';
    document.getElementById('headline').textContent = text;
  };
  const start = async () => {
    const text = atob(packed.textContent);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    const [style, code] = (await new Response(stream).text()).split(/<script>(.*)/s);
    const sheet = document.createElement('style');
    sheet.textContent = style;
    document.head.append(sheet);
    const rules = { createScript: (text) => text };
    const policy = self.trustedTypes?.createPolicy('tidemark-unpack', rules) ?? rules;
    const script = document.createElement('script');
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
    start().catch((problem) => fail(`The viewer in this page is damaged (${problem.message}).`));
  }
})();
