// boot.js - starts the viewer, whose script the page holds compressed. The page's policy names the hashes of
// this script and of the viewer's, so that no other script can run.
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
    const code = await new Response(stream).text();
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
