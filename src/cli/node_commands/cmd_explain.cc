// plimsoll classes explain, plimsoll classes capture: without a daemon
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/fs_root.h"
#include "base/status.h"
#include "cli/command/command.h"
#include "cli/command/paths.h"
#include "cli/node_commands/explain.h"
#include "cli/node_commands/node_commands.h"
#include "cli/terminal/text.h"
#include "qos/class_file.h"

namespace plimsoll::cli {
namespace {

// Far above kMaxClassFileBytes: only such a file is not read to its end.
constexpr size_t kMostExplainedBytes = 4 * 1024 * 1024;

struct ExplainArguments {
  std::string file;
  std::string type;
  std::string resctrl;  // a captured tree; empty: this machine's
  std::string svg;
  std::string group_prefix;
};

absl::StatusOr<std::unique_ptr<linux::Resctrl>> OpenResctrl(const std::string& root) {
  const auto host = FsRoot::Open(root.empty() ? "/" : root);
  if (!host.ok()) return Annotate(host.status(), "--resctrl");
  auto resctrl = linux::Resctrl::Open(*host);
  if (resctrl.ok()) return resctrl;
  return root.empty()
             ? WithHint(resctrl.status(),
                        "To look at the file for another machine: `plimsoll classes capture DIR` "
                        "there, then --resctrl DIR here.")
             : WithHint(Annotate(resctrl.status(), absl::StrCat("--resctrl ", root)),
                        "The directory has to be one that `plimsoll classes capture` made, or the "
                        "root of a machine with resctrl.");
}

absl::StatusOr<Explanation> ExplainFile(const ExplainArguments& arguments) {
  const std::string name = arguments.file == "-" ? "standard input" : arguments.file;
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text,
                            ReadUserFile(arguments.file, FileKinds::kAny, kMostExplainedBytes));
  if (text.size() > qos::kMaxClassFileBytes) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is larger than ",
                                                   HumanBytes(qos::kMaxClassFileBytes),
                                                   ", and plimsolld reads no class file that is"));
  }
  std::string type = arguments.type;
  if (type.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(type, ClassTypeOf(name, text));
  }
  if (type == "rdt") {
    // Errors of the file itself come first, also on a machine without resctrl.
    PLIMSOLL_RETURN_IF_ERROR(CheckRdtFile(name, text));
    PLIMSOLL_ASSIGN_OR_RETURN(const auto resctrl, OpenResctrl(arguments.resctrl));
    return ExplainRdt(name, text, *resctrl, arguments.group_prefix);
  }
  for (const auto& [option, value] : {std::pair("--resctrl", &arguments.resctrl),
                                      {"--svg", &arguments.svg},
                                      {"--group-prefix", &arguments.group_prefix}}) {
    if (value->empty()) continue;
    return UsageError(absl::InvalidArgumentError(
        absl::StrCat(option, " is for files of rdt; ", name, " is one of blockio")));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot host, FsRoot::Open("/"));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto cgroups, linux::CgroupManager::Detect(host));
  return ExplainBlockio(name, text, host, *cgroups);
}

absl::StatusOr<int> Explain(const CommandContext& context, const ExplainArguments& arguments) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Explanation explanation, ExplainFile(arguments));
  if (arguments.svg == "-") {
    Print(explanation.svg);
    return kExitOk;
  }
  if (!arguments.svg.empty()) {
    PLIMSOLL_RETURN_IF_ERROR(Annotate(WriteUserFile(arguments.svg, explanation.svg), "--svg"));
  }
  if (context.for_programs()) {
    PLIMSOLL_RETURN_IF_ERROR(PrintJson(explanation.json, context.format()));
  } else {
    Print(explanation.text);
  }
  return kExitOk;
}

absl::StatusOr<int> CaptureResctrl(const std::string& directory, const std::string& from) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto resctrl, OpenResctrl(from));
  PLIMSOLL_ASSIGN_OR_RETURN(const linux::ResctrlInfo info, resctrl->ReadInfo());
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string absolute, FromRoot(directory));
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot out, FsRoot::OpenOrCreate(absolute, 0755));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto there, out.List("."));
  if (!there.empty()) {
    return WithHint(absl::AlreadyExistsError(absl::StrCat(directory, " is not empty")),
                    "A captured tree needs a new directory, or an empty one.");
  }
  PLIMSOLL_RETURN_IF_ERROR(resctrl->Capture(out));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto groups, resctrl->ControlGroups());
  Print(absl::StrCat("captured the resctrl at ", resctrl->mount_point(), " into ", directory, ":\n",
                     DescribeResctrl(info), "  groups: ", groups.size() + 1,
                     ", the root's included; no process is named in it\n"));
  return kExitOk;
}

}  // namespace

void AddExplainCommands(CLI::App& classes, CommandContext& context) {
  auto arguments = std::make_shared<ExplainArguments>();
  CLI::App* explain = classes.add_subcommand(
      "explain",
      "Show the effect of a file of rdt or blockio classes on a machine; nothing is changed.\n\n"
      "For rdt: the masks as strips of bits, losses by rounding, conflicts. For blockio: the "
      "limits by disk, and patterns that match no disk. Errors are plimsolld's errors for such a "
      "file; warnings are no errors.");
  explain->add_option("file", arguments->file, "The class file; - is standard input")
      ->type_name("FILE")
      ->required();
  explain
      ->add_option("--resctrl", arguments->resctrl,
                   "Use a machine captured by `plimsoll classes capture` instead of this one")
      ->type_name("DIRECTORY");
  explain
      ->add_option(
          "--svg", arguments->svg,
          "Also draw the masks into this file; -: draw to standard output and print nothing else")
      ->type_name("FILE");
  explain
      ->add_option("--group-prefix", arguments->group_prefix,
                   "The value of classes.rdt.group_prefix in plimsolld's configuration")
      ->type_name("PREFIX");
  explain
      ->add_option("--type", arguments->type,
                   "Type of the classes, needed if the file's keys don't show it")
      ->check(CLI::IsMember({"rdt", "blockio"}));
  context.Act(explain, [&context, arguments] { return Explain(context, *arguments); });

  auto directory = std::make_shared<std::string>();
  auto from = std::make_shared<std::string>();
  CLI::App* capture = classes.add_subcommand(
      "capture",
      "Copy this machine's resctrl files, for `explain --resctrl` elsewhere.\n\n"
      "The copy has caches, limits and groups, but no process ids.");
  capture->add_option("directory", *directory, "Directory for the copy, an empty one or a new one")
      ->type_name("DIRECTORY")
      ->required();
  capture->add_option("--resctrl", *from, "Another machine's root directory, or a captured tree")
      ->type_name("DIRECTORY");
  context.Act(capture, [directory, from] { return CaptureResctrl(*directory, *from); });
}

}  // namespace plimsoll::cli
