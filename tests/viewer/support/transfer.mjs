// Detaches arrays that the viewer releases. Node 20 has no ArrayBuffer.prototype.transfer: without this,
// nothing would be released, and tests would miss later reads of a released array.
ArrayBuffer.prototype.transfer ??= function transfer() {
  return structuredClone(this, { transfer: [this] });
};
