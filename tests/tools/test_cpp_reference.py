# SPDX-License-Identifier: Apache-2.0
"""tools/apidocs: the headers are read as they are written, and no public name is left out."""

import re
from pathlib import Path

import pytest

from apidocs.cpp_headers import read_header
from apidocs.cpp_pages import FOLDERS, read_reference, render_cpp_pages
from apidocs.cpp_scan import HeaderError, statements
from isagen.committed import stale
from support.tree import ROOT

HEADER = """\
// SPDX-License-Identifier: Apache-2.0
//
// What it is for.
#pragma once

#include <string>

namespace pyptx::a {

using Where = std::source_location;

/// A pair.
/// Of two.
template <typename T>
  requires(!std::is_void_v<T>)
struct Pair : Base<T> {
  Pair(T one, int two) : first_{one}, second_(two) {}
  /// The first.
  const T& first() const { return first_; }  // NOLINT(*)
  int second_ = 0;  // behind it
  bool (*less)(const T& a) = nullptr;

 private:
  T first_;
};

/// Adds.
int add(int a, int b = 2, Where where = Where::current());
int add(double a);
void bare(std::string_view text = "a; {", Where where = Where::current());

/// Colours.
enum class Colour : std::uint8_t { Red, Green = 4 };

#define PYPTX_EACH(symbol, word) \\
  inline int operator symbol(A a, A b) { return word(a, b); }
/// Each.
PYPTX_EACH(+, plus)
PYPTX_EACH(<<, shift)
#undef PYPTX_EACH

namespace detail {
int hidden();
}  // namespace detail
inline constexpr int kTable[] = {1, 2};  // of numbers
}  // namespace pyptx::a
"""


def read(folder: Path, text: str):
    path = folder / "a.h"
    path.write_text(text, encoding="utf-8")
    return read_header(folder, path)


def test_a_header_is_read_as_it_is_written(tmp_path):
    header = read(tmp_path, HEADER)
    assert (header.path, header.about) == ("a.h", "What it is for.")
    found = {entry.qualified()[0]: entry for entry in header.entries}
    names = ["a::Where", "a::Pair", "a::add", "a::Colour", "a::operator+", "a::kTable"]
    assert list(found) == names
    assert found["a::Pair"].comment == "A pair.\nOf two."
    assert found["a::Pair"].members == ["first", "second_", "less"]
    assert found["a::Pair"].code == [
        "template <typename T>\n"
        "  requires(!std::is_void_v<T>)\n"
        "struct Pair : Base<T> {\n"
        "  Pair(T one, int two);\n"
        "  /// The first.\n"
        "  const T& first() const;\n"
        "  int second_ = 0;  // behind it\n"
        "  bool (*less)(const T& a) = nullptr;\n"
        "};"
    ]
    assert found["a::add"].qualified() == ["a::add", "a::bare"]
    assert found["a::add"].code == [
        "int add(int a, int b = 2);",
        "int add(double a);",
        'void bare(std::string_view text = "a; {");',
    ]
    assert found["a::Colour"].members == ["Red", "Green"]
    assert found["a::operator+"].code == ["int operator+(A a, A b);", "int operator<<(A a, A b);"]
    assert found["a::kTable"].code == ["constexpr int kTable[] = {1, 2};"]
    assert found["a::Where"].is_alias


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("namespace a {\nint f();\n", "line 3: a brace is never closed"),
        ("int f()\n", r"line 1: 'int f\(\)' does not end"),
        ("\nstruct A { int a; } a;\n", "line 2: ';' expected behind 'struct A'"),
    ],
)
def test_what_is_not_understood_is_refused_with_its_line(tmp_path, text, said):
    with pytest.raises(HeaderError, match=said):
        read(tmp_path, text)


def test_words_in_texts_and_comments_are_no_statements():
    (one,) = statements('auto a = f("}; {", \'"\');  // b = {;\n')
    assert (one.head, one.trailing) == ('auto a = f("}; {", \'"\')', "b = {;")


@pytest.fixture(scope="module")
def reference():
    return read_reference(ROOT / "include")


# What begins in the first column of a header, where the contents of a namespace stand.
TYPE = re.compile(
    r"^(?:enum class|class|struct|enum) (?:\[\[\w+\]\] |\w+\(.*?\)+ )?(?!std::)(\w+)[^;(]*\{"
)
FUNCTION = re.compile(r"^[a-zA-Z][\w:<>,&* ]*[ &*](\w+)\(")


def test_no_name_of_a_header_is_left_out(reference):
    known = {name.rsplit("::", 1)[-1] for name in reference.places}
    members = {member for names in reference.members.values() for member in names}
    for path in sorted((ROOT / "include/pyptx").rglob("*.h")):
        text = path.read_text(encoding="utf-8")
        text = re.sub(r"namespace detail \{.*?\}  // namespace detail", "", text, flags=re.DOTALL)
        for line in text.splitlines():
            found = TYPE.match(line) or FUNCTION.match(line)
            if found and not line.startswith("static_assert"):
                assert found[1] in known | members, (path, line)


def test_every_declaration_says_what_it_is(reference):
    bare = [
        (header.path, entry.names)
        for headers in reference.headers.values()
        for header in headers
        for entry in header.entries
        if not entry.comment and not entry.is_alias
    ]
    assert bare == []
    # The author's vocabulary: a comment to each name, not to a group of them.
    for header in reference.headers["author"]:
        for entry in header.entries:
            same = {re.sub(r"operator.*", "operator", name) for name in entry.names}
            assert entry.is_alias or entry.is_type or len(same) == 1, (header.path, entry.names)


def test_the_committed_pages_are_current(reference):
    pages = render_cpp_pages(reference)
    assert stale(ROOT / "docs/api/cpp", pages, "*.md") == []
    assert pages.keys() == {f"{name}.md" for name in (*FOLDERS, "README", "names")}
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    assert "\napi/cpp/README\n" in index
    assert "\napi/cpp/*\n" in index


def test_names_lead_to_their_headings(reference):
    pages = render_cpp_pages(reference)
    for name in ("ptx::if_", "Reg", "interop::Tile", "ptx::warp::reduce_max", "text::check"):
        place = reference.places[name]
        headings = re.findall(r"^### (.*)$", pages[f"{place.page}.md"], re.MULTILINE)
        slugs = [re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings]
        assert place.anchor in slugs, name
