"""``python -m tests.docs.regenerate``: makes every made part of the documents again, and all printed output."""

from __future__ import annotations

from tests.docs import test_compare_doc
from tests.docs.generated import regenerated
from tests.docs.pages import pages
from tests.docs.test_console_blocks import rewrite


def main() -> None:
    for page in pages():
        text = regenerated(page)
        if text != page.read_text(encoding="utf-8"):
            page.write_text(text, encoding="utf-8")
    rewrite([])
    test_compare_doc.main()


if __name__ == "__main__":
    main()
