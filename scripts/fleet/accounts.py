"""A NATS server with accounts: users by signed tokens that expire, as a company's own server may have them."""

import base64
import json
import os
import time
from pathlib import Path

import nkeys
from servers import Nats


def key(prefix):
    seed = nkeys.encode_seed(os.urandom(32), prefix)
    pair = nkeys.from_seed(seed)
    return pair, pair.public_key.decode(), seed.decode()


def token(signer, issuer, subject, name, nats, seconds=None):
    part = lambda value: base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")
    now = int(time.time())
    claims = {"jti": os.urandom(8).hex(), "iat": now, "iss": issuer, "sub": subject, "name": name, "nats": {**nats, "version": 2}}
    if seconds is not None:
        claims["exp"] = now + seconds
    text = f'{part({"typ": "JWT", "alg": "ed25519-nkey"})}.{part(claims)}'
    return f'{text}.{base64.urlsafe_b64encode(signer.sign(text.encode())).decode().rstrip("=")}'


class Accounts(Nats):
    """A server that believes an operator's key; credentials are files with a token and a seed."""

    def configure(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        operator, operator_name, _ = key(nkeys.PREFIX_BYTE_OPERATOR)
        self.account, self.account_name, _ = key(nkeys.PREFIX_BYTE_ACCOUNT)
        limits = dict.fromkeys(("subs", "data", "payload", "imports", "exports", "conn", "leaf", "mem_storage", "disk_storage", "streams", "consumer"), -1)
        account = token(operator, operator_name, self.account_name, "team", {"type": "account", "limits": {**limits, "wildcards": True}})
        # JetStream wants an account of the server's own.
        _, system_name, _ = key(nkeys.PREFIX_BYTE_ACCOUNT)
        system = token(operator, operator_name, system_name, "system", {"type": "account", "limits": {**limits, "mem_storage": 0, "disk_storage": 0, "wildcards": True}})
        own = token(operator, operator_name, operator_name, "operator", {"type": "operator"})
        (self.folder / "nats-server.conf").write_text(
            f'listen: "127.0.0.1:{self.port}"\njetstream {{ store_dir: "{self.folder}/store" }}\noperator: {own}\n'
            f"system_account: {system_name}\nresolver: MEMORY\nresolver_preload: {{ {self.account_name}: {account}, {system_name}: {system} }}\n")
        self.credentials("admin", 3600)

    def key(self, name):
        return str(self.folder / f"{name}.creds")

    def credentials(self, name, seconds):
        _, user, seed = key(nkeys.PREFIX_BYTE_USER)
        text = token(self.account, self.account_name, user, name, {"type": "user", "pub": {}, "sub": {}, "subs": -1, "data": -1, "payload": -1}, seconds)
        Path(self.key(name)).write_text(
            f"-----BEGIN NATS USER JWT-----\n{text}\n------END NATS USER JWT------\n\n"
            f"-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n")
