"""A small data set in LoCoMo's layout, written for the tests, and runs over it with a scripted model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TURNS = {
    "talk-a": [("Mei", "I moved to Tainan in March and opened a tea shop."), ("Bo", "My sister Lin repairs violins.")],
    "talk-b": [("Ann", "I bought a red canoe for 150 dollars."), ("Cy", "I planted 15 plum trees behind the house.")],
}


def locomo(folder: Path, *, repeat_ids: bool = True) -> Path:
    """Two conversations whose dialogue ids are the same; one adversarial question, one without evidence."""
    samples = []
    for name, turns in TURNS.items():
        session = [{"speaker": who, "dia_id": f"D1:{n}", "text": said} for n, (who, said) in enumerate(turns, 1)] + [
            {"speaker": turns[0][0], "dia_id": f"D1:{n}", "text": f"Small talk number {n}."} for n in range(3, 13)
        ]
        speakers = {"speaker_a": turns[0][0], "speaker_b": turns[1][0]}
        conversation = {**speakers, "session_1": session, "session_1_date_time": "1 May, 2023"}
        samples.append({"sample_id": name, "conversation": conversation, "qa": _questions(name)})
    path = folder / "locomo10.json"
    path.write_text(json.dumps(samples), encoding="utf-8")
    return folder


def _questions(name: str) -> list[dict[str, Any]]:
    if name == "talk-a":
        return [
            {
                "question": "What shop did Mei open in Tainan?",
                "answer": "a tea shop",
                "evidence": ["D1:1"],
                "category": 4,
            },
            {"question": "Who repairs violins?", "answer": "Lin", "evidence": ["D1:2"], "category": 1},
            {"question": "Is Mei brave?", "answer": "Likely yes", "evidence": [], "category": 3},
            {"question": "Which ship did Bo buy?", "adversarial_answer": "none", "evidence": ["D1:1"], "category": 5},
        ]
    return [
        {"question": "How many plum trees did Cy plant?", "answer": 15, "evidence": ["D1:2; D1:1", "D"], "category": 1},
        {"question": "What did the canoe cost?", "answer": "150 dollars", "evidence": ["D1:1", "D9:9"], "category": 4},
    ]


def verdict(score: int, *, refusal: bool = False) -> str:
    """A judge's reply in the form asked for."""
    return json.dumps({"score": score, "refusal": refusal, "reason": "because"})
