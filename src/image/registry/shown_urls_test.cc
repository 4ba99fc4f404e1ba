#include "image/registry/shown_urls.h"

#include <utility>

#include "gtest/gtest.h"

namespace plimsoll::image {
namespace {

TEST(WithoutUrlSecrets, QueriesFragmentsAndUsersAreLeftOut) {
  using Case = std::pair<const char*, const char*>;
  for (const auto& [text, shown] : {
           Case{"Get \"https://s3.example/b/l?X-Sig=abc&X-Cred=d\": EOF",
                "Get \"https://s3.example/b/l\": EOF"},
           Case{"Get https://u:p@h:5/a?sig=b: EOF", "Get https://h:5/a: EOF"},
           Case{"at https://h/a#token=b, then http://h?c", "at https://h/a, then http://h"},
           Case{"(see https://h/a?b=c).", "(see https://h/a)."},
           Case{"Get \\\"https://h/a?b\\\": x", "Get \\\"https://h/a\\\": x"},
           Case{"Get \"file:///etc/passwd?sig=a\": unsupported",
                "Get \"file:///etc/passwd\": unsupported"},
           Case{"Get \"/v2/a?sig=b\": no scheme", "Get \"/v2/a\": no scheme"},
           Case{"realm=\"https://h/token?service=r&key=s\"", "realm=\"https://h/token\""},
           Case{"https://a@b@h/c@d", "https://h/c@d"},
           Case{"a=https://h/b,https://u:p@h/c?d", "a=https://h/b,https://h/c"},
           Case{"is it there? #1 of \"two words?\"", "is it there? #1 of \"two words?\""},
           Case{"to /v2/a?sig=b, not", "to /v2/a, not"},
           Case{"Get \"https://h/a?name='b'&sig=`c`<d>\": EOF", "Get \"https://h/a\": EOF"},
           Case{"Get \"https://h/a?b=c sig=d\": EOF", "Get \"https://h/a\": EOF"},
           Case{"Get \"https://h/a?b=\\\"c\\\"&sig=d\": EOF", "Get \"https://h/a\": EOF"},
           Case{"parse \"bad scheme://x y?sig=d\": no", "parse \"bad scheme://x y\": no"},
           Case{"\"Get \\\"https://h/a?b c\\\": EOF\", then",
                "\"Get \\\"https://h/a\\\": EOF\", then"},
           Case{"href=\"https://h/a?sig=b c", "href=\"https://h/a"},
           Case{"at https://h/a?n='b'&sig=c now", "at https://h/a now"},
           Case{"at 'https://h/a?b' and <https://h/c?d>", "at 'https://h/a' and <https://h/c>"},
           Case{"https:\\/\\/h\\/a?sig=b c", "https:\\/\\/h\\/a c"},
           Case{"https://", "https://"},
           Case{"", ""},
       }) {
    EXPECT_EQ(WithoutUrlSecrets(text), shown);
  }
}

TEST(WithoutWord, OnlyWholeWordsAreReplaced) {
  EXPECT_EQ(WithoutWord("an image and a:x", "a"), "an image and [redacted]:x");
  EXPECT_EQ(WithoutWord("pw=hunter2&x", "hunter2"), "pw=[redacted]&x");
  EXPECT_EQ(WithoutWord("hunter22 hunter2", "hunter2"), "hunter22 [redacted]");
  EXPECT_EQ(WithoutWord("x$y-x$yz", "x$y"), "[redacted]-x$yz");
  EXPECT_EQ(WithoutWord("x ", ""), "x ");
}

}  // namespace
}  // namespace plimsoll::image
