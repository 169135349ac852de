"""PPO in the style of CleanRL on Leduc hold'em against the bot `call`, in seconds."""

import torch
from torch import nn
from torch.distributions import Categorical

from poker_rl.integrations.gymnasium import GameVectorEnv

torch.manual_seed(0)
envs = GameVectorEnv("leduc", num_envs=256, opponents="call")
inputs, outputs, steps = envs.single_observation_space.shape[0], envs.single_action_space.n, 16
actor = nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, outputs))
critic = nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 1))
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=3e-3)


def policy(x, mask):
    return Categorical(logits=torch.where(mask, actor(x), -1e8))


mean_rewards = []
x = torch.from_numpy(envs.reset(seed=0)[0]).float()
for _ in range(30):
    columns = []
    for _ in range(steps):
        mask = torch.from_numpy(envs.action_masks())
        with torch.no_grad():
            action, value = policy(x, mask).sample(), critic(x)[:, 0]
            log_prob = policy(x, mask).log_prob(action)
        next_x, reward, is_over, _, _ = envs.step(action.numpy())
        reward, is_over = torch.from_numpy(reward).float(), torch.from_numpy(is_over).float()
        columns.append((x, mask, action, log_prob, value, reward, is_over))
        x = torch.from_numpy(next_x).float()
    xs, masks, actions, log_probs, values, rewards, ends = map(
        torch.stack, zip(*columns, strict=True)
    )
    mean_rewards.append((rewards.sum() / ends.sum()).item())
    advantages, advantage, next_value = torch.zeros_like(rewards), 0.0, critic(x)[:, 0].detach()
    for t in reversed(range(steps)):  # generalized advantage estimation, lambda 0.95, no discount
        delta = rewards[t] + next_value * (1 - ends[t]) - values[t]
        advantage = delta + 0.95 * advantage * (1 - ends[t])
        advantages[t], next_value = advantage, values[t]
    rows = [
        a.flatten(0, 1) for a in (xs, masks, actions, log_probs, advantages, advantages + values)
    ]
    for minibatch in torch.cat([torch.randperm(256 * steps) for _ in range(4)]).split(1024):
        x_, mask, action, old_log_prob, advantage, target = (a[minibatch] for a in rows)
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        distribution = policy(x_, mask)
        ratio = (distribution.log_prob(action) - old_log_prob).exp()
        gain = torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)
        value_loss = (critic(x_)[:, 0] - target).square().mean()
        loss = 0.5 * value_loss - gain.mean() - 0.01 * distribution.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(f"antes a hand: {mean_rewards[0]:.2f} at first, {mean_rewards[-1]:.2f} at the end")
torch.save(actor.state_dict(), "actor.pt")
