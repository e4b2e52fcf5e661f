"""From text deltas to units worth speaking."""
