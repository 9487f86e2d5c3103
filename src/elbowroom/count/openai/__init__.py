"""How OpenAI turns a chat request into the text that it bills, one file for each kind of part.

Knows: nothing itself; `openai_chat` puts the parts together.
Does not know: tokenizers. Every file names texts and constants; the sum of both is the count.
"""
