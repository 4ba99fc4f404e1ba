#include "pictures/rdt_masks.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::pictures {
namespace {

using qos::CompileRdt;
using qos::ParseRdtConfig;
using qos::RdtCompiled;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

linux::ResctrlInfo PictureMachine() {
  linux::ResctrlInfo info;
  info.l3 = linux::ResctrlCacheInfo{.ids = {0, 1}, .cbm_mask = 0x7ff, .num_closids = 16};
  info.mb = linux::ResctrlBandwidthInfo{
      .ids = {0, 1}, .min_bandwidth = 10, .bandwidth_gran = 10, .num_closids = 8};
  return info;
}

RdtCompiled CompiledPicture(const std::string& text, const linux::ResctrlInfo& machine) {
  const auto config = ParseRdtConfig("rdt.yaml", text);
  EXPECT_TRUE(config.ok()) << config.status();
  auto compiled = CompileRdt(*config, machine);
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  return compiled.ok() ? *std::move(compiled) : RdtCompiled();
}

constexpr char kText[] = R"(
partitions:
  exclusive:
    l3Allocation: 60%
    mbAllocation: [100%, 2000MBps]
    classes: {gold: , "<b>": {l3Allocation: 50%, mbAllocation: [45%, 100MBps]}}
  shared:
    l3Allocation: 30%
)";

TEST(RdtPictureTest, DrawsStripsAndSaysWhatIsRounded) {
  EXPECT_EQ(RdtText(CompiledPicture(kText, PictureMachine()), PictureMachine()),
            R"(L3 of caches 0-1, 11 ways
                   10        0
  exclusive        .....######  0x3f   6 ways
    <b>            ........###  0x7    3 ways
    gold           .....######  0x3f   6 ways
  shared           ..###......  0x1c0  3 ways
  without a class  ###########  0x7ff  11 ways
  free             ##.........  0x600  2 ways

MB of caches 0-1, at most, of all there is
  exclusive  100%
    <b>      50%
    gold     100%
  shared     100%

Rounded:
  partition exclusive: L3 of caches 0-1: 60.0% asked, 54.5% given (6 of 11 ways)
  partition shared: L3 of caches 0-1: 30.0% asked, 27.3% given (3 of 11 ways)
  class <b>: MB of caches 0-1: 45.0% asked, 50.0% given (50%)

To know:
  rdt.yaml:6:23: partitions.exclusive.classes.<b>: not every client can send the class name "<b>"; valid are 1 to 63 letters, digits, '-', '_' and '.'
  processes without a class use every way of the caches, those of exclusive partitions too: no partition has the class "system/default"
)");
}

TEST(RdtPictureTest, CachesThatAreDividedOtherwiseHavePanelsOfTheirOwn) {
  linux::ResctrlInfo machine = PictureMachine();
  machine.l3->shareable_bits = 0x600;
  const auto panels = PictureRdt(
      CompiledPicture(
          "partitions: {p: {l3Allocation: {all: 50%, 1: 20%}, classes: {system/default: }}}",
          machine),
      machine);
  ASSERT_EQ(panels.size(), 2u);
  EXPECT_EQ(panels[0].Title(), "L3 of cache 0, 11 ways");
  EXPECT_EQ(panels[1].Title(), "L3 of cache 1, 11 ways");
  EXPECT_EQ(panels[0].rows[0].label, "devices too");
  EXPECT_EQ(panels[0].rows[1].value, 0x1fu);
  EXPECT_EQ(panels[1].rows[1].value, 0x3u);
}

TEST(RdtPictureTest, NothingToDraw) {
  EXPECT_EQ(RdtText(CompiledPicture("partitions: {p: {classes: {a: }}}", PictureMachine()),
                    PictureMachine()),
            "Nothing is restricted on the machine.\n");
  EXPECT_THAT(RdtSvg(RdtCompiled(), PictureMachine()), HasSubstr("</svg>"));
}

TEST(RdtPictureTest, TheDrawingHasAllOfIt) {
  linux::ResctrlInfo machine = PictureMachine();
  machine.mb->mbps = true;
  const std::string svg = RdtSvg(CompiledPicture(kText, machine), machine);
  EXPECT_THAT(svg, AllOf(StartsWith("<?xml"), HasSubstr(">L3 of caches 0-1, 11 ways</text>"),
                         HasSubstr(">0x1c0</text>"), HasSubstr(">3 of 11</text>"),
                         HasSubstr(">100 MBps</text>"), HasSubstr(">&lt;b&gt;</text>"),
                         Not(HasSubstr("<b>"))));
  EXPECT_THAT(svg, HasSubstr("prefers-color-scheme: dark"));
  const auto count = [&](const std::string& part) {
    size_t found = 0;
    for (size_t at = svg.find(part); at != std::string::npos; at = svg.find(part, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("class=\"card\""), 2u);
  EXPECT_EQ(count("class=\"track\""), 6u + 4) << "one for each row";
  // The page, the patterns' grounds, cards, tracks, and a bar in each row: no mask has a gap.
  EXPECT_EQ(count("<rect"), 1u + 2 + 2 + 10 + 10);
}

TEST(RdtPictureTest, EachRunOfWaysIsABar) {
  linux::ResctrlInfo machine = PictureMachine();
  machine.l3->shareable_bits = 0x511;
  const auto svg = RdtSvg(
      CompiledPicture("partitions: {p: {l3Allocation: 100%, classes: {a: }}}", machine), machine);
  size_t bars = 0;
  for (size_t at = svg.find("url(#devices)"); at != std::string::npos;
       at = svg.find("url(#devices)", at + 1)) {
    ++bars;
  }
  EXPECT_EQ(bars, 4u);
}

TEST(RdtPictureTest, LongNamesAreCutBetweenCharacters) {
  const std::string name(39, 'x');
  RdtCompiled compiled = CompiledPicture("partitions: {p: {l3Allocation: 100%}}", PictureMachine());
  compiled.partitions[0].name = name + "\u00e4\u00e4";
  const std::string svg = RdtSvg(compiled, PictureMachine());
  EXPECT_THAT(svg, HasSubstr(">" + name + "\u2026</text>"));
  EXPECT_THAT(svg, HasSubstr("<title>" + name + "\u00e4\u00e4: ")) << "whole for who points at it";
}

}  // namespace
}  // namespace plimsoll::pictures
