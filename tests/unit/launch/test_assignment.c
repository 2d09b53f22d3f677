/* test_assignment.c - the variable that a line of Python gives its value. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "programs/launch/document/assignment.h"

enum { NAME_BYTES = 64 };

/* expected "": the line has no name. */
static void expect(const char *source, int line, const char *expected) {
    const char *name = NULL;
    size_t n_bytes = 0;
    char found[NAME_BYTES] = "";
    if (tide_assigned_name(source, line, &name, &n_bytes)) {
        assert_true(n_bytes > 0 && n_bytes < sizeof(found));
        (void)snprintf(found, sizeof(found), "%.*s", (int)n_bytes, name);
    }
    if (strcmp(found, expected) != 0) {
        fail_msg("line %d of \"%s\": \"%s\", and not \"%s\"", line, source, found, expected);
    }
}

static void a_call_names_its_variable(void **state) {
    (void)state;
    expect("logits = self.head(x)\n", 1, "logits");
    expect("    logits=head(x)", 1, "logits");
    expect("\th = self.layers[i].fc(x)  # the hidden state (wide)\n", 1, "h");
    expect("y: torch.Tensor = F.softmax(a @ b, dim=-1)\n", 1, "y");
    expect("att: Dict[str, int] = make({'=': 1})\n", 1, "att");
    expect("x = x.float().contiguous()\n", 1, "x");
    expect("s = f(\"a ) # = 'b'\")\n", 1, "s");
    expect("x = self.ln(x)\r\n", 1, "x");
    expect("gr\xc3\xb6\xc3\x9f"
           "e = f(x)\n",
           1,
           "gr\xc3\xb6\xc3\x9f"
           "e");
}

static void a_statement_may_have_several_lines(void **state) {
    (void)state;
    static const char SOURCE[] = "import torch\n"
                                 "scores = torch.softmax(\n"
                                 "    a @ b,  # (not the end\n"
                                 "    dim=f(1)\n"
                                 ")\n"
                                 "text = \"\"\"\n"
                                 "z = f(x)\n"
                                 "\"\"\"\n"
                                 "out = \\\n"
                                 "    f(x)\n";
    for (int line = 2; line <= 5; line++) {
        expect(SOURCE, line, "scores");
    }
    expect(SOURCE, 1, "");
    expect(SOURCE, 7, "");
    expect(SOURCE, 11, "");
    expect(SOURCE, 0, "");
    expect(SOURCE, -1, "");
    expect("", 1, "");
}

static void what_is_not_plain_has_no_name(void **state) {
    (void)state;
    static const char *const LINES[] = {
        "a, b = f(x)",
        "a = b = f(x)",
        "self.x = f(x)",
        "x[0] = f(x)",
        "x += f(x)",
        "x = y + f(x)",
        "x = f(x) + y",
        "x = f(x)[0]",
        "x = f(x).loss",
        "x = (f(x))",
        "x = [f(x)]",
        "x = y",
        "x = 1",
        "f(x)",
        "return f(x)",
        "x == f(x)",
        "if x: y = f(x)",
        "else: y = f(x)",
        "try: y = f(x)",
        "x = f(x) if y else g(x)",
        "x = lambda y: f(y)",
        "x = await f(x)",
        "x = not f(x)",
        "x = -f(x)",
        "x = f(x); y = g(x)",
        "x = f(x) \\",
        "x = \"f(x)\"",
        "for x in y: z = f(x)",
        "x = f(x",
        "x = f(x))",
        "x =",
        "=",
        "x = f(x).item()",
        "x = f(x).cpu()",
        "n = len(f(x))",
        "x = float(f(x))",
        "batch = next(it)",
        "x: int",
        "x = yield(f(x))",
        "1x = f(x)",
    };
    for (size_t i = 0; i < sizeof(LINES) / sizeof(LINES[0]); i++) {
        expect(LINES[i], 1, "");
    }
    /* An argument on a line of its own is no statement. */
    expect("y = g(\n    mask=f(x)\n) + 1\n", 2, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_names_its_variable),
        cmocka_unit_test(a_statement_may_have_several_lines),
        cmocka_unit_test(what_is_not_plain_has_no_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
