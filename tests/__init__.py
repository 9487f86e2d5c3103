"""The tests: two trees that mirror the two packages, and what is checked across them."""
