// boot.js - unpacks the viewer: the page holds it compressed. It stands in the page as an inline script of the same
// text, which the page's policy names by its hash: no other text can run by this way.
(() => {
  const packed = document.getElementById('packed'), headline = document.getElementById('headline');
  const fail = (text) => {
    document.documentElement.dataset.ready = 'no';
    headline.textContent = text;
  };
  const unpack = async () => {
    const binary = atob(packed.textContent);
    const stream = new Blob([Uint8Array.from(binary, (c) => c.charCodeAt(0))]).stream().pipeThrough(new DecompressionStream('gzip'));
    const text = await new Response(stream).text();
    const script = document.createElement('script'), makes = { createScript: (s) => s };
    script.type = 'module';
    script.id = 'viewer';
    script.textContent = (self.trustedTypes ? self.trustedTypes.createPolicy('tidemark-unpack', makes) : makes).createScript(text);
    packed.replaceWith(script);
  };
  if (typeof DecompressionStream === 'undefined') {
    fail('This browser cannot open the page: it has no DecompressionStream. Chrome from 80, Firefox from 113 and Safari from 16.4 do.');
  } else {
    unpack().catch((problem) => fail(`The viewer in this page is damaged (${problem.message}).`));
  }
})();
