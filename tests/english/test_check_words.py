"""Each kind of file with a planted word, and near misses that must pass."""
import unittest

import check_words


class Words(unittest.TestCase):
    def found(self, name, source):
        return list(check_words.unexpected(name, source, set()))

    def test_comments_strings_and_documents(self):
        self.assertRegex(self.found("a.c", "int a;\n/* It\n * lies here. */\n")[0], "^a.c:3: 'lies'")
        self.assertRegex(self.found("a.h", 'const char *a = "nobody knows";\n')[0], "^a.h:1: 'nobody'")
        self.assertRegex(self.found("a.py", '"""What\n\nis told."""\n')[0], "^a.py:3: 'told'")
        self.assertRegex(self.found("a.md", "one\n\nThe command behind it.\n")[0], "^a.md:3: 'behind'")

    def test_names_and_code_of_documents_are_no_text(self):
        self.assertEqual([], self.found("a.c", "int told = nobody(lies);\n"))
        self.assertEqual([], self.found("a.py", "told = 1\n"))
        self.assertEqual([], self.found("a.md", "```\nnobody\n```\nand `lies`\n"))

    def test_idioms_and_parts_of_words(self):
        self.assertEqual([], self.found("a.c", "/* Nothing is left behind; it relies on the untold. */\n"))

    def test_an_exception_is_used(self):
        used = set()
        (file, part), *_ = check_words.EXCEPTIONS
        self.assertEqual([], list(check_words.unexpected(file, f"/* a {part} */\n", used)))
        self.assertEqual({(file, part)}, used)


if __name__ == "__main__":
    unittest.main()
