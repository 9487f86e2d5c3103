"""Generated cases of an invented bank: each question is about two products, and thirty chunks come back for it.

    python -m bench.bank_cases > bank.jsonl
    elbowroom sweep --cases bank.jsonl --policy bench/bank/policy.yaml --top-k 2,4,6,8,12,20,30

The two chunks that answer stand among the best six by their scores. Every draw is a hash, so the file is the same on
every machine.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from itertools import product
from typing import Any

CASES, CANDIDATES, WITHIN = 48, 30, 6
PRODUCTS = {
    "en": (
        "Harbour Current Account", "Harbour Student Account", "Lantern Savings Book", "Lantern Fixed Deposit",
        "Quay Credit Card", "Quay Travel Card", "Anchor Home Loan", "Anchor Car Loan", "Tide Business Account",
        "Tide Overdraft", "Beacon Pension Plan", "Beacon Share Depot",
    ),
    "zh": (
        "港湾活期账户", "港湾学生账户", "灯塔储蓄存折", "灯塔定期存款", "码头信用卡", "码头旅行卡", "船锚住房贷款",
        "船锚汽车贷款", "潮汐企业账户", "潮汐透支额度", "航标养老计划", "航标证券账户",
    ),
}  # fmt: skip
TOPICS = {
    "en": (
        ("monthly fee", "The monthly fee of the {name} is {n} euros."),
        ("notice period", "The notice period of the {name} is {n} days."),
        ("minimum balance", "The minimum balance of the {name} is {n} euros."),
        ("daily limit", "The daily limit of the {name} is {n} euros."),
        ("early closing charge", "The early closing charge of the {name} is {n} euros."),
        ("identity check", "The identity check for the {name} takes {n} working hours."),
    ),
    "zh": (
        ("月费", "{name}的月费为{n}欧元。"),
        ("通知期", "{name}的通知期为{n}天。"),
        ("最低余额", "{name}的最低余额为{n}欧元。"),
        ("每日限额", "{name}的每日限额为{n}欧元。"),
        ("提前销户费", "{name}的提前销户费为{n}欧元。"),
        ("身份核验", "{name}的身份核验需要{n}个工作小时。"),
    ),
}
ASKED = {"en": "What is the {topic} of the {a}, and what is it for the {b}?", "zh": "{a}的{topic}是多少？{b}又是多少？"}
SAID = {
    "en": (
        (
            "Paragraph {n} of the terms says who may change it", "A branch keeps the signed form for {n} years",
            "Staff at desk {n} answer questions in person", "Where two holders are named each of them is told",
            "The rule was last revised in round {n}", "Form {n} is used for exceptions",
            "Customers below the age of {n} need a guardian", "The annual statement lists every entry",
            "Complaints go to office {n} first",
        ),
        (
            "a change is told {m} weeks ahead", "the customer gets a copy within {m} days",
            "the telephone line is open for {m} hours a day", "after {m} days silence counts as consent",
            "{m} objections were heard and answered in writing", "the head of the branch decides and writes it down",
            "clerk number {m} signs as well", "a second copy costs {m} cents",
            "the ombudsman may be asked after {m} weeks without an answer",
        ),
    ),
    "zh": (
        (
            "条款第{n}条规定由谁更改", "网点保存签字表格{n}年", "{n}号柜台当面解答", "有两名持有人时分别通知",
            "该规定在第{n}轮修订", "例外情况使用{n}号表格", "未满{n}岁的客户须有监护人", "年度对账单列出全部明细",
            "投诉先寄第{n}办公室",
        ),
        (
            "更改须提前{m}周通知", "客户在{m}天内收到副本", "电话热线每天开放{m}小时", "{m}天内未答复视为同意",
            "书面答复了{m}条意见", "由网点负责人决定并记录", "{m}号职员也须签字", "副本收费{m}分",
            "{m}周无答复可向监察员提出",
        ),
    ),
}  # fmt: skip
SENTENCES = {"en": ("{0}, and {1}.", " "), "zh": ("{0}，{1}。", "")}
LENGTH = 14  # sentences


def draw(*words: object) -> int:
    """A large number that looks random and is always the same."""
    return int.from_bytes(hashlib.blake2b("|".join(map(str, words)).encode(), digest_size=6).digest(), "big")


def fact(lang: str, name: str, topic: int) -> str:
    return TOPICS[lang][topic][1].format(name=name, n=5 + draw(lang, name, topic) % 900)


def chunk(lang: str, name: str, topic: int) -> dict[str, Any]:
    """About three hundred tokens: the fact, and what a bank writes around it."""
    ident = f"{lang}-{PRODUCTS[lang].index(name)}-{topic}"
    form, between = SENTENCES[lang]
    pairs = sorted(product(*SAID[lang]), key=lambda pair: draw(ident, *pair))[:LENGTH]
    said = [
        form.format(*pair).format(n=2 + draw(ident, at) % 90, m=2 + draw(ident, at, "m") % 50)
        for at, pair in enumerate(pairs)
    ]
    said.insert(draw(ident, "at") % 6, fact(lang, name, topic))
    title = f"{name}: {TOPICS[lang][topic][0]}"
    return {"id": ident, "source_id": ident, "title": title, "text": between.join(said)}


def case(number: int) -> dict[str, Any]:
    lang = ("en", "zh")[number % 2]
    names, topics = PRODUCTS[lang], range(len(TOPICS[lang]))
    first, second = sorted(names, key=lambda name: draw(number, name))[:2]
    topic = draw(number, "topic") % len(topics)
    wanted = [(first, topic), (second, topic)]
    others = sorted(set(product(names, topics)) - set(wanted), key=lambda one: draw(number, *one))
    ranked = [*others[: CANDIDATES - 2]]
    for at, one in zip((draw(number, "a") % 2, 2 + draw(number, "b") % (WITHIN - 2)), wanted, strict=True):
        ranked.insert(at, one)
    documents = [{**chunk(lang, *one), "score": round(1 - 0.02 * at, 2)} for at, one in enumerate(ranked)]
    return {
        "id": f"bank-{number}",
        "lang": lang,
        "dataset": "bank",
        "class": "comparison",
        "question": ASKED[lang].format(topic=TOPICS[lang][topic][0], a=first, b=second),
        "answers": [],
        "documents": documents,
        "expected": [[{"id": chunk(lang, *one)["id"], "quotes": [fact(lang, *one)]}] for one in wanted],
    }


def cases() -> Iterator[str]:
    """The lines of the file."""
    for number in range(CASES):
        yield json.dumps(case(number), ensure_ascii=False)


if __name__ == "__main__":
    sys.stdout.writelines(line + "\n" for line in cases())
