"""Goofspiel with hidden bids, fictitious play on its tree, and a bot: a plug-in of poker-rl."""
