"""The maintainer's tools for overflow texts: try one, add a case, check a pattern, keep the score."""
