"""JAX: products, a training step with donated buffers; "oom" asks for too much, "cards" splits the batch over all cards."""
import sys

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

D, L, B = 2048, 4, 4096


def loss(params, x):
    for layer in params:
        x = x + jax.nn.gelu(x @ layer["a"]) @ layer["b"]
    return jnp.mean(x**2)


def step(params, m, x):
    value, g = jax.value_and_grad(loss)(params, x)
    m = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, m, g)
    return jax.tree.map(lambda p, m: p - 1e-3 * m, params, m), m, value


print(jax.devices(), flush=True)
params = [{"a": jnp.zeros((D, 4 * D)), "b": jnp.zeros((4 * D, D))} for _ in range(L)]
m = jax.tree.map(jnp.zeros_like, params)
x = jnp.ones((B, D))
if "cards" in sys.argv:
    mesh = Mesh(jax.devices(), ("batch",))
    x = jax.device_put(x, NamedSharding(mesh, PartitionSpec("batch")))
    params, m = jax.device_put((params, m), NamedSharding(mesh, PartitionSpec()))
train = jax.jit(step, donate_argnums=(0, 1))
for _ in range(3):
    params, m, value = train(params, m, x)
value.block_until_ready()
print("steps done", [(d.memory_stats() or {}).get("peak_bytes_in_use") for d in jax.devices()], flush=True)
if "oom" in sys.argv:
    jnp.zeros((1 << 21, 1 << 14)).block_until_ready()  # 128 GiB
