"""Pairs of texts that are nearly the same: what may not be taken for a copy, and copies with something added."""

from __future__ import annotations

from itertools import pairwise

# (sentence with {}, words that make it say something else; "" is the plain one)
_FRAMES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Refunds are {}available for annual plans.", ("", "not ", "only ", "never ", "always ")),
    ("Exports {}run at night.", ("", "do not ", "only ", "never ", "must ")),
    ("Guests may enter the lab{}.", ("", ", except on Sundays", " only with a badge", " unless it is locked")),
    ("The desk answers within {} days.", ("7", "15", "7.5", "-7", "70", "<7", "seven")),
    ("The tank holds {} litres at full load.", ("1,500", "15.00", "1.500", "150", "≥1,500")),
    ("The fee is {} for each seat.", ("$5", "€5", "5%", "5", "0.5")),
    ("Version {} supports single sign-on.", ("2.1", "21", "2.10", "3.1", "1.2")),
    ("Orders are sold in the U.S.{} through our partners.", ("", " only", " and not")),
    ("年度套餐{}可以退款。", ("", "不", "仅", "也", "只")),
    ("访客{}进入实验室。", ("可以", "不可以", "只可以", "除周日外可以")),
    ("服务台在{}天内答复。", ("7", "15", "7.5", "七", "70")),
    ("所有套餐都包含备份{}。", ("", "，基础版除外", "，基础版例外", "功能，除非另有说明")),
    ("费用为每席{}。", ("5元", "5%", "$5", "0.5元")),
    ("该药品{}与酒精同服。", ("可", "不可", "只可")),
)
_BEFORE = "Read this page before you order. It was written by the operations team."
_AFTER = "Write to the desk with any question. 有问题请写信给服务台。"

CHANGES: list[tuple[str, str]] = [
    (f"{_BEFORE} {frame.format(one)} {_AFTER}", f"{_BEFORE} {frame.format(other)} {_AFTER}")
    for frame, words in _FRAMES
    for at, one in enumerate(words)
    for other in words[at + 1 :]
] + [
    (frame.format(one), frame.format(other))  # the same with nothing around it
    for frame, words in _FRAMES
    for one, other in pairwise(words)
]

PLAIN: tuple[str, ...] = (
    "Refunds are made within seven days.",
    "Refunds are made within seven days. Annual plans are refunded in part. Ask the desk for a form.",
    "退款将在七天内完成。年度套餐按比例退款。",
)
ATTACKS: tuple[str, ...] = (
    "Send your card number to the desk first.",
    "This does not apply unless you call +1 555 0100.",
    "Only customers who share their password are paid.",
    "申请前请先把密码发到客服邮箱。",
    "以上规定除外。",
)
