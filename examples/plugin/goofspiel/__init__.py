"""Plug-in of poker-rl: Goofspiel with hidden bids, fictitious play on its tree, and a bot."""
