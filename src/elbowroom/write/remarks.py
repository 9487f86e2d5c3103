"""What the proxy itself says, in the question's language: to the model about its evidence, or to the user.

Knows: the sentences, in English and Chinese.
Does not know: when any of them is said.
"""

from __future__ import annotations

import re

_HAN = re.compile("[\u4e00-\u9fff]")

_SAID = {
    "en": {
        "nothing": "No retrieved evidence is available for this question. Say so instead of guessing.",
        "thin": "The evidence may not be enough for this question. Say what is missing instead of guessing.",
        "narrow": (
            "The retrieved evidence is not enough for this question. Do not answer it; ask the user one short question "
            "that would narrow it down."
        ),
        "partial": (
            "Shown here are {shown} of {found} sources that were found. Say that the answer may be incomplete."
        ),
        "asked": (
            "I did not find enough in the sources to answer this. Could you narrow it down, for example by naming the "
            "product, the version, the document or the period you mean?"
        ),
        "earlier": "[Summary of the earlier conversation]\n{summary}\n[End of summary]",
    },
    "zh": {
        "nothing": "没有检索到可用的资料。请说明这一点，不要臆测。",
        "thin": "检索到的资料可能不足以回答这个问题。请说明缺少什么，不要臆测。",
        "narrow": "检索到的资料不足以回答这个问题。请不要作答，只向用户提一个简短的问题，以便缩小范围。",
        "partial": "检索到 {found} 个来源，这里列出 {shown} 个。请说明回答可能不完整。",
        "asked": "资料中没有找到足以回答这个问题的内容。能否缩小一下范围，例如说明具体的产品、版本、文件或时间？",
        "earlier": "[此前对话的摘要]\n{summary}\n[摘要结束]",
    },
}


def language(text: str) -> str:
    """`zh` or `en`: the language in which a question with this text is answered by the proxy itself."""
    return "zh" if _HAN.search(text) else "en"


def remark(kind: str, lang: str, *, shown: int = 0, found: int = 0) -> str:
    """A sentence for the model, and the blank line behind it."""
    return _SAID[lang][kind].format(shown=shown, found=found) + "\n\n"


def clarifying(lang: str) -> str:
    """The whole answer where the user is asked instead of a model."""
    return _SAID[lang]["asked"]


def earlier(summary: str, lang: str) -> str:
    """What stands before the first turn that stayed, in place of those that did not."""
    return _SAID[lang]["earlier"].replace("{summary}", summary) + "\n\n"
