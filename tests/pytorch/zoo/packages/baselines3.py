"""Stable-Baselines3: PPO or DQN on CartPole, small networks whose every step reads the action: baselines3.py ppo|dqn"""
import sys

import torch
from stable_baselines3 import DQN, PPO

how = sys.argv[1]
if how == "ppo":
    model = PPO("MlpPolicy", "CartPole-v1", device="cuda", n_steps=256, batch_size=64, n_epochs=4)
    model.learn(total_timesteps=512)
else:
    model = DQN("MlpPolicy", "CartPole-v1", device="cuda", learning_starts=100, buffer_size=1000, target_update_interval=100)
    model.learn(total_timesteps=500)
observation = model.get_env().reset()
actions = set()
for _ in range(100):
    action, _ = model.predict(observation, deterministic=False)
    observation = model.get_env().step(action)[0]
    actions |= set(action.tolist())
print("actions are in range", actions <= {0, 1})
print(f"steps: {model.num_timesteps}")
print(f"peak allocated: {torch.cuda.max_memory_allocated()}")
