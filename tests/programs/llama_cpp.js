// llama.cpp's CUDA build: eight tokens of the model that argv names. NODE_PATH has @fugood/llama.node.
const { loadModel } = require('@fugood/llama.node');

(async () => {
  const model = await loadModel({
    model: process.argv[2],
    n_gpu_layers: 99,
    n_ctx: 4096,
    lib_variant: 'cuda',
  });
  const made = await model.completion({ prompt: 'hello', n_predict: 8, temperature: 0 });
  console.log('tokens', made.tokens_predicted);
  await model.release();
})().catch((error) => {
  console.error('FAILED', error);
  process.exit(3);
});
