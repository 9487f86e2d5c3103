"""The engine: decides which evidence enters a prompt, and says why.

It knows values only: what came in, what it costs, what the policy allows.
It does not know the network, the clock, the environment or the disk; whatever comes from there is handed in.
"""
