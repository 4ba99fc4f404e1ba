// Shares of a cache and of memory bandwidth in rdt files as containerd and CRI-O read them. See
// dialect_for_test.h.
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "qos/rdt/dialect_for_test.h"

namespace plimsoll::qos::rdt_dialect {
namespace {

TEST(RdtDialectValuesTest, SharesOfACache) {
  const std::vector<Case> cases = {
      {"\"0x3\"", "c L3:0=3;1=3"},
      {"\"3\"", "c L3:0=8;1=8"},
      {"!!str 3", "c L3:0=8;1=8"},
      {"\"1,0\"", "c L3:0=3;1=3"},
      {"\"0-19\"", "c L3:0=fffff;1=fffff"},
      {"50-60%", "c L3:0=e00;1=e00"},
      {"007%", "c L3:0=3;1=3"},
      {"{}", "c L3:0=fffff;1=fffff"},
      {"null", "c L3:0=fffff;1=fffff"},
      {"{\"0\": 50%}", "c L3:0=3ff;1=fffff"},
      {"{0: 50%}", "c L3:0=3ff;1=fffff"},
      {"{0x1: 50%}", "c L3:0=fffff;1=3ff", "the key 0x1 is read as \"1\""},
      {"{01: 50%}", "c L3:0=fffff;1=3ff", "the key 01 is read as \"1\""},
      {"{\"00\": 50%}", "c L3:0=3ff;1=fffff"},
      {"{\"7\": 50%}", "c L3:0=fffff;1=fffff", "class c names cache ids 7; the machine has 0-1"},
      {"{\"\": 50%}", "c L3:0=fffff;1=fffff", "the key \"\" names no cache id"},
      {"{\"0-127\": 50%}", "c L3:0=3ff;1=3ff"},
      // The library takes either at random; here the narrower key counts.
      {"{0-1: 50%, 1: 20%}", "c L3:0=3ff;1=f", "also named by another key"},
      {"{\"1\": 20%, \"0,1\": 50%}", "c L3:0=3ff;1=f", "also named by another key"},
      {"{all: {Unified: 50%}}", "c L3:0=3ff;1=3ff", "the key \"Unified\" is read as \"unified\""},
      {"{all: {UNIFIED: 50%, unified: 20%}}", "c L3:0=f;1=f", "are all the key \"unified\""},
      {"{all: {unified: 50%, code: 50%, data: 20%}}", "c L3:0=3ff;1=3ff"},
      {"{all: {unified: 50%, code: \"\", data: \"\"}}", "c L3:0=3ff;1=3ff"},
      {"{all: {unified: 50%, foo: 1}}", "c L3:0=3ff;1=3ff", "\"foo\" is passed over"},
      // Numbers where the library wants text.
      {"{all: {unified: 3}}", "c L3:0=8;1=8"},
      {"{all: {unified: 010}}", "c L3:0=100;1=100", "010 without quotes is the number 8"},
      {"{all: {unified: 0b11}}", "c L3:0=8;1=8", "is the number 3"},
      {"{all: {unified: 0o17}}", "c L3:0=8000;1=8000", "is the number 15"},
      {"{all: {unified: 1e1}}", "c L3:0=400;1=400", "is the number 10"},
      {"{all: {unified: 1_0}}", "c L3:0=400;1=400", "is the number 10"},
      {"{all: {unified: 4.0}}", "c L3:0=10;1=10", "is the number 4"},
      {"\"\"", kRefused},
      {"{all: \"\"}", kRefused},
      {"{all: }", kRefused},
      {"{all: {unified: yes}}", kRefused},
      {"{all: {unified: ~}}", kRefused},
      {"{all: {unified: \"\", code: 50%}}", kRefused},
      {"{all: {unified: 50%, code: 50%}}", kRefused},
      {"{all: {code: 50%, data: 20%}}", kRefused},
      {"{all: [1]}", kRefused},
      {"[50%]", kRefused},
      {"true", kRefused},
      {"{yes: 50%}", kRefused},
      {"{\"a\": 50%}", kRefused},
      {"{ALL: 50%}", kRefused},
      {"{all: 50%, All: 20%}", kRefused},
      {"{~: 50%}", kRefused},
      {"{0.5: 50%}", kRefused},
      {"{\"-1\": 50%}", kRefused},
      {"{\"0-\": 50%}", kRefused},
      {"{\"0,\": 50%}", kRefused},
      {"\"0,2\"", kRefused},
      {"\"0-\"", kRefused},
      {"\"0x\"", kRefused},
      {"\"0X3\"", kRefused},
      {"\"0x 3\"", kRefused},
      {"\"0x3 \"", kRefused},
      {"\"0x+3\"", kRefused},
      {"\"0x0x3\"", kRefused},
      {"\"0x0\"", kRefused},
      {"\"0xf_f\"", kRefused},
      {"\"20\"", kRefused},
      {"\"64\"", kRefused},
      {"\"0x1fffff\"", kRefused},
      {"0%", kRefused},
      {"0-0%", kRefused},
      {"101%", kRefused},
      {"128%", kRefused},
      {"60-50%", kRefused},
      {"\"50 %\"", kRefused},
      {"\" 50%\"", kRefused},
      {"\"5.5%\"", kRefused},
      {"\"-5%\"", kRefused},
      {"\"+5%\"", kRefused},
      {"2001-01-01", kRefused},
      {"1:30", kRefused},
  };
  Check(cases,
        "partitions:\n  p:\n    l3Allocation: 100%\n    classes:\n      c:\n        l3Allocation: ",
        "\n", OnlyL3());
}

// Nothing at all is an error only where the share counts.
TEST(RdtDialectValuesTest, NothingAtAllWithoutEffect) {
  const std::string before =
      "partitions:\n  p:\n    l3Allocation: 100%\n    classes:\n      c:\n        l3Allocation: ";
  const char* const warning = "is nothing at all; it is an error where this share counts";
  Check(
      {
          {"{all: {unified: 50%, code: 0%, data: 0%}}", "c L3:0=3ff;1=3ff", warning},
          {"{all: {unified: 50%, code: 0-0%, data: 10%}}", "c L3:0=3ff;1=3ff", warning},
          {"{all: 50%, \"7\": 0%}", "c L3:0=3ff;1=3ff", warning},
          {"{all: 0%, \"0-1\": 50%}", "c L3:0=3ff;1=3ff", warning},
          {"{all: {unified: 0%, code: 50%, data: 50%}}", kRefused},
          {"{all: 50%, \"1\": 0%}", kRefused},
          {"{all: 50%, \"1\": 0-0%}", kRefused},
      },
      before, "\n", OnlyL3());
  linux::ResctrlInfo cdp = WithCdp();
  cdp.mb.reset();
  Check(
      {
          {"{all: {unified: 0%, code: 50%, data: 20%}}", "c L3CODE:0=3ff;1=3ff L3DATA:0=f;1=f",
           warning},
          {"{all: {unified: 50%, code: 0%, data: 20%}}", kRefused},
          {"{all: {unified: 0%}}", kRefused},
      },
      before, "\n", cdp);
  Check({{"0%", "c", warning}}, "options: {l3: {optional: true}}\n" + before, "\n",
        OnlyBandwidth());
  EXPECT_THAT(ReadRdt(before + "0%\n", OnlyL3()).error,
              ::testing::HasSubstr("L3 of caches 0-1, class \"c\": \"0%\" is nothing at all; 1% is "
                                   "the least"));
}

// The author of 0x3 means a mask: it is read so, with a warning of the others' reading.
TEST(RdtDialectValuesTest, AMaskWithoutQuotesIsAMaskHereAlone) {
  const std::vector<Case> cases = {
      {"{all: {unified: 0x3}}", "c L3:0=3;1=3",
       "0x3 without quotes is read as the mask 0x3, but containerd and CRI-O read the number 3, so "
       "bit 3 alone, the mask 0x8; write \"0x3\" with quotes"},
      {"{all: {unified: 0xff0}}", "c L3:0=ff0;1=ff0", "read the number 4080 and refuse it"},
      {"{all: 0x3}", "c L3:0=3;1=3", "but containerd and CRI-O refuse it"},
      {"0X3", "c L3:0=3;1=3", "write \"0x3\" with quotes"},
      {"3", "c L3:0=8;1=8", "the list of bits 3, but containerd and CRI-O refuse it"},
      // Ranges of one, which the library does not take for ranges.
      {"\"0-0\"", "c L3:0=1;1=1", "the bits \"0-0\" are refused by containerd and CRI-O"},
      {"\"0, 1\"", "c L3:0=3;1=3", "the bits \"0, 1\" are refused by containerd and CRI-O"},
      {"{\"1-1\": 50%}", "c L3:0=fffff;1=3ff"},
      {"{\"200\": 50%}", "c L3:0=fffff;1=fffff", "names cache ids 200"},
  };
  Check(cases, "partitions: {p: {l3Allocation: 100%, classes: {c: {l3Allocation: ", "}}}}",
        OnlyL3());
}

TEST(RdtDialectValuesTest, Bandwidth) {
  const std::vector<Case> cases = {
      {"[50%]", "c MB:0=50;1=50"},
      {"[50%, 1000MBps]", "c MB:0=50;1=50"},
      {"[1000MBps, 50%]", "c MB:0=50;1=50"},
      {"{all: [50%]}", "c MB:0=50;1=50"},
      {"{0: [20%]}", "c MB:0=20;1=100"},
      {"{}", "c MB:0=100;1=100"},
      {"[0%]", "c MB:0=10;1=10"},
      {"[5%]", "c MB:0=10;1=10"},
      {"[50%, 20%]", "c MB:0=50;1=50",
       "\"20%\" is the second value of its unit, and is passed over"},
      {"[50XBps, 50%]", "c MB:0=50;1=50", "\"50XBps\" is not a memory bandwidth"},
      {"[50%, 50XBps]", "c MB:0=50;1=50", "is passed over"},
      {"[50mbps, 50%]", "c MB:0=50;1=50", "\"50mbps\" is not a memory bandwidth"},
      {"[50MB, 20%]", "c MB:0=20;1=20", "\"50MB\" is not a memory bandwidth"},
      {"[\"50%\", \"\"]", "c MB:0=50;1=50", "is passed over"},
      {"[50%, null]", "c MB:0=50;1=50", "is passed over"},
      {"[\"50%\", \"x\", \"y\"]", "c MB:0=50;1=50", "\"y\" is not a memory bandwidth"},
      {"{all: [50, 50%]}", "c MB:0=50;1=50", "\"50\" is not a memory bandwidth"},
      {"{all: [true, 50%]}", "c MB:0=50;1=50",
       "\"true\" is not a memory bandwidth: \"50%\" or \"1000MBps\", and is passed over; "
       "containerd"},
      {"{\"0-1\": [20%], \"1\": [30%]}", "c MB:0=20;1=30", "also named by another key"},
      // Any value will do in the unit that doesn't count.
      {"[4294967296MBps, 50%]", "c MB:0=50;1=50", "an error where this unit counts"},
      {"[xMBps, 50%]", "c MB:0=50;1=50", "an error where this unit counts"},
      {"[50%, xMBps]", "c MB:0=50;1=50", "an error where this unit counts"},
      {"[1000MBps]", kRefused},
      {"[50]", kRefused},
      {"[\"50\"]", kRefused},
      {"[50XBps]", kRefused},
      {"[]", kRefused},
      {"[null]", kRefused},
      {"{all: }", kRefused},
      {"{all: []}", kRefused},
      {"[128%]", kRefused},
      {"[\"50 %\"]", kRefused},
      {"[\"5.5%\"]", kRefused},
      {"[\"+5%\"]", kRefused},
      {"[x%]", kRefused},
      {"[x%, 50%]", kRefused},
      {"[x%, 1000MBps]", kRefused},
      {"[[50%]]", kRefused},
      {"[{a: 1}]", kRefused},
      {"[101%]", kRefused},  // the kernel refuses it
      {"50%", "c MB:0=50;1=50", "refuse a bandwidth that is no list; write [50%]"},
      {"{all: 50%}", "c MB:0=50;1=50", "refuse a bandwidth that is no list; write [50%]"},
      {"[50, 60%]", "c MB:0=60;1=60", "containerd and CRI-O refuse the file for it"},
      {"{all: [100%], 0-0: [50%]}", "c MB:0=50;1=100", "the cache ids \"0-0\" are refused"},
      {"{all: [100%], \" 1\": [50%]}", "c MB:0=100;1=50", "the cache ids \" 1\" are refused"},
  };
  Check(cases, "partitions: {p: {mbAllocation: [100%], classes: {c: {mbAllocation: ", "}}}}",
        OnlyBandwidth());
  const std::vector<Case> mbps = {
      {"[50%, 1000MBps]", "c MB:0=1000;1=1000"},
      {"[1000MBps]", "c MB:0=1000;1=1000"},
      {"[0MBps]", "c MB:0=0;1=0"},
      {"[4294967295MBps]", "c MB:0=100000;1=100000"},
      {"[1000MBps, x%]", "c MB:0=1000;1=1000", "an error where this unit counts"},
      {"[101%, 1000MBps]", "c MB:0=1000;1=1000"},
      {"[999%, 1000MBps]", "c MB:0=1000;1=1000"},
      {"{}", "c MB:0=100000;1=100000"},
      {"[50%]", kRefused},
      {"[4294967296MBps]", kRefused},
      {"[50%, xMBps]", kRefused},
  };
  linux::ResctrlInfo machine = WithMbps();
  machine.l3.reset();
  Check(mbps,
        "partitions: {p: {mbAllocation: [100%, 100000MBps], classes: {c: {mbAllocation: ", "}}}}",
        machine);
}

}  // namespace
}  // namespace plimsoll::qos::rdt_dialect
