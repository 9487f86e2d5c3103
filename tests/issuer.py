"""An issuer of tokens for tests: real keys, real signatures, a JWKS."""

from __future__ import annotations

import json
import time
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from jwt.algorithms import ECAlgorithm

from tests.holders import ORG, TEAM

ISSUER, AUDIENCE = "https://id.example", "elbowroom"


class Issuer:
    """Signs with a key of its own."""

    def __init__(self, kid: str = "k1") -> None:
        self.kid = kid
        self.key: EllipticCurvePrivateKey = generate_private_key(SECP256R1())

    @property
    def jwk(self) -> dict[str, Any]:
        return {**ECAlgorithm.to_jwk(self.key.public_key(), as_dict=True), "kid": self.kid, "alg": "ES256"}

    @property
    def jwks(self) -> str:
        return json.dumps({"keys": [self.jwk]})

    def token(self, headers: dict[str, Any] | None = None, **claims: Any) -> str:
        """A whole token of ann's, with these claims instead; None leaves one out."""
        said = {
            "iss": ISSUER, "aud": AUDIENCE, "exp": time.time() + 600, "sub": "ann", "org": ORG, "team": TEAM,
            "tenant": "acme", "groups": ["support"], "clearance": "internal", **claims,
        }  # fmt: skip
        kept = {name: value for name, value in said.items() if value is not None}
        return jwt.encode(kept, self.key, algorithm="ES256", headers={"kid": self.kid, **(headers or {})})
