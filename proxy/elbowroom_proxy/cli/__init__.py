"""The commands of `elbowroom`, one file each; no command decides what may enter a prompt."""
