"""What learners are made of: tables being played, memories, minibatches, averages.

Imports config, games, nets and players.
"""
