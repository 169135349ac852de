"""What both players of a game of poker for two see, boards and betting lines; ranges of hands."""
