"""The strings by which models are told who speaks: data, one row a rule.

Knows: for each family the strings that its tokenizer or its template treats as control, and the shapes that cover
whole families at once.
Does not know: how they are found or broken (`neutralise`).

A row is a character and a regular expression for what follows it, matched on a shadow of the text in which
compatibility forms (full-width and the like) are folded to ASCII, so no row holds one of those. Four conditions, each
held by a test: a match is at least two characters long, it contains no backslash, a shorter text has no match that the
longer one had not, and a line end behind a text makes none. They are why one backslash after the first character is
enough, why breaking twice is breaking once, and why a text may be cut and put between tags afterwards.
A string that an earlier shape already covers is not listed again: without any one row some example stays live.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Rule(NamedTuple):
    family: str
    first: str  # the first character of every match
    rest: str  # a regular expression for what follows it
    examples: tuple[str, ...]
    before: str = ""  # what stands right before every match, where it is always the same


_SHAPES = (
    # ChatML, Llama 3 and 4, Phi, Command, DeepSeek, harmony, Granite, Kimi, GLM, Qwen, o200k and cl100k themselves.
    # A space after the bar is an operator (`<| f |>`), not a token.
    Rule(
        "bars",
        "<",
        r"\|[^\s<>|\\][^<>|\\\n]{0,63}\|>",
        ("<|im_start|>", "<|eot_id|>", "<|start of turn|>", "<|x|>"),
    ),
    Rule("bars, left", "<", r"\|\w{1,40}>", ("<|turn>", "<|tool_call>")),
    Rule("bars, right", "<", r"\w{1,40}\|>", ("<turn|>", "<channel|>")),
    Rule("brackets and bars", "[", r"\|\w{1,40}\|\]", ("[|system|]", "[|endofturn|]")),
    Rule("DeepSeek markup", "<", r"/?\|DSML\|", ("<|DSML|invoke", "</|DSML|invoke")),
    Rule(
        "numbered",
        "<",
        r"(?:unused|reserved_|extra_id_|SPECIAL_)[0-9]{1,6}>",
        ("<unused7>", "<extra_id_0>"),
    ),
    Rule("numbered", "[", r"(?:control_|UNUSED_TOKEN_)[0-9]{1,6}\]", ("[control_8]", "[UNUSED_TOKEN_146]")),
    Rule("Seed", "<", r"/?seed:\w{1,40}>", ("<seed:bos>", "</seed:think>")),
    Rule("Seed Coder", "<", r"\[(?:fim-|[a-zA-Z]{3,5}▁)[\w▁]{1,30}\]>", ("<[begin▁of▁sentence]>", "<[fim-prefix]>")),
    Rule("StarCoder and Granite", "<", r"fim_(?:prefix|middle|suffix|pad)>", ("<fim_prefix>", "<fim_pad>")),
    Rule(
        "Gemma tools",
        "<",
        r"(?:start|end)_function_(?:call|declaration|response)>",
        ("<start_function_call>", "<end_function_response>"),
    ),
    Rule("GLM tools", "<", r"/?arg_(?:key|value)>", ("<arg_key>", "</arg_value>")),
    Rule("LongCat", "<", r"/?longcat_\w{1,40}>", ("<longcat_think>", "</longcat_tool_call>")),
    Rule("Ling", "<", r"role>(?:SYSTEM|HUMAN|ASSISTANT|OBSERVATION)</role>", ("<role>SYSTEM</role>",)),
    Rule(
        "Nemotron tools",
        "<",
        r"/?(?:AVAILABLE_TOOLS|TOOLCALL|TOOL_RESPONSE)>",
        ("<AVAILABLE_TOOLS>", "</TOOLCALL>", "<TOOL_RESPONSE>"),
    ),
    Rule("Qwen coder", "<", r"function=", ("<function=",)),
    Rule(
        "Claude tools",
        "<",
        r"/?(?:antml:)?(?:function_calls|function_results|invoke|parameter)",
        ("<function_calls>", "</invoke>", "<invoke name", "<parameter=", "<invoke"),
    ),
    Rule("Claude legacy", "H", r"uman:", ("\n\nHuman:",), "\n\n"),
    Rule("Claude legacy", "A", r"ssistant:", ("\n\nAssistant:",), "\n\n"),
    # Our own. `s` too: who is told "cite [S1]" obeys "[s1]" as well.
    Rule("elbowroom tag", "<", r"/?[Ss][0-9]", ("<S1-", "</S1-", "<s2>", "</S12-")),
    # A section may be about S3, but it is ours alone that say where they end.
    Rule(
        "elbowroom heading", "#", r" (?:[Ss][0-9]{1,4}-[0-9]|end [Ss][0-9])", ("# S1-4", "# end S12", "# end S1-0417")
    ),
    Rule("elbowroom citation", "[", r"/?[Ss][0-9]", ("[S1]", "[s12]", "[S1, S2]", "[/S1-")),
    Rule("elbowroom citation", "【", r"[Ss][0-9]", ("【S1】", "【s12】")),  # as some models write it
    Rule("elbowroom citation", "︻", r"[Ss][0-9]", ("︻S1︼",)),  # the same, vertically
)

_STRINGS: dict[str, tuple[str, ...]] = {
    "Llama 2 and Mistral": (
        "<s>", "</s>", "<unk>", "<pad>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>",
        "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_CALLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]",
        "[TOOL_CONTENT]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[ARGS]", "[CALL_ID]", "[THINK]", "[/THINK]",
        "[IMG]", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]", "[AUDIO]", "[BEGIN_AUDIO]",
        "[TRANSCRIBE]", "[MODEL_SETTINGS]", "[/MODEL_SETTINGS]",
    ),
    "Gemma": (
        "<start_of_turn>", "<end_of_turn>", "<bos>", "<eos>", "<mask>", "<start_of_image>", "<end_of_image>",
        "<image_soft_token>", "<start_of_audio>", "<end_of_audio>", "<audio_soft_token>", "<escape>",
    ),
    "SmolVLM": ("<end_of_utterance>",),
    "Kimi": ("[BOS]", "[EOS]", "[EOT]"),
    "Command": (
        "<BOS_TOKEN>", "<EOS_TOKEN>", "<EOP_TOKEN>", "<MASK_TOKEN>", "<PAD>", "<UNK>", "<CLS>", "<SEP>",
    ),
    "GLM": ("[gMASK]", "[sMASK]", "[MASK]", "<sop>", "<eop>"),
    "InternLM": ("<eoh>", "<eoa>", "<eosys>"),
    "MiniMax": ("]~!b[", "]~b]", "[e~[", "]!p~[", "<minimax:tool_call>", "</minimax:tool_call>"),
    "tools": (
        "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<tool_calls>", "</tool_calls>",
        "<tool_sep>", "</function>",
    ),
    "reasoning": ("<think>", "</think>"),
    # Our own, around a summary of earlier turns, as `remarks` has them.
    "elbowroom summary": (
        "[Summary of the earlier conversation]", "[End of summary]", "[此前对话的摘要]", "[摘要结束]",
    ),
}  # fmt: skip

RULES: tuple[Rule, ...] = (
    *_SHAPES,
    *(
        Rule(family, string[0], re.escape(string[1:]), (string,))
        for family, strings in _STRINGS.items()
        for string in strings
    ),
)
