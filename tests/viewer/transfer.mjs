// Arrays that the viewer has released are gone here too: node 20 has no ArrayBuffer.prototype.transfer, without which
// nothing would be released, and nobody would see that something is read again.
ArrayBuffer.prototype.transfer ??= function transfer() {
  return structuredClone(this, { transfer: [this] });
};
