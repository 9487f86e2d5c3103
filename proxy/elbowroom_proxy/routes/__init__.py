"""The addresses a client may call, one file each; how a request is carried is not known here."""
