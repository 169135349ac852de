"""Display of poker tables to people: views, and names of hands and moves."""
