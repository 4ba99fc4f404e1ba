#include <functional>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "cli/command_tree.h"
#include "cli/text.h"

namespace plimsoll::cli {
namespace {

// What `plimsoll __complete` lists for a value named like this; empty: nothing of ours.
std::string DynamicKinds(const OptionInfo& option) {
  std::vector<std::string> kinds;
  for (const absl::string_view part : absl::StrSplit(option.value, '|')) {
    if (part == "POD") kinds.emplace_back("pods");
    if (part == "CONTAINER") kinds.emplace_back("containers");
    if (part == "IMAGE") kinds.emplace_back("images");
  }
  return absl::StrJoin(kinds, " ");
}

// What of the file system completes a value named like this.
absl::string_view FilesOf(const OptionInfo& option) {
  return option.value == "FILE" ? "any" : option.value == "DIRECTORY" ? "directories" : "";
}

void Walk(const CommandInfo& command, const std::string& path,
          const std::function<void(const CommandInfo&, const std::string&)>& visit) {
  visit(command, path);
  for (const CommandInfo& sub : command.commands) {
    Walk(sub, path.empty() ? sub.name : absl::StrCat(path, " ", sub.name), visit);
  }
}

std::string WordsOf(const CommandInfo& root, const CommandInfo& command) {
  std::vector<std::string> words;
  for (const CommandInfo& sub : command.commands) words.push_back(sub.name);
  for (const std::vector<OptionInfo>* options : {&command.options, &root.options}) {
    for (const OptionInfo& option : *options) {
      for (const std::string& name : option.names) {
        if (!absl::c_linear_search(words, name)) words.push_back(name);
      }
    }
    if (&command == &root) break;
  }
  return absl::StrJoin(words, " ");
}

// The part that bash and zsh share: the command's path so far and, from it, what may follow. Uses
// only what both shells understand; `before` and `previous` are set before. Names come from the
// daemon that the line's own --address or --root means.
std::string ShellBody(const CommandInfo& root) {
  std::string names = "  case \"$path $word\" in\n";
  std::string tables = "  case \"$path\" in\n";
  std::string values = "  case \"$path $previous\" in\n";
  Walk(root, "", [&](const CommandInfo& command, const std::string& path) {
    if (!path.empty()) {
      const size_t cut = path.rfind(' ');
      const std::string parent = cut == std::string::npos ? "" : path.substr(0, cut);
      std::string patterns = absl::StrCat("\"", parent, " ", command.name, "\"");
      for (const std::string& alias : command.aliases) {
        absl::StrAppend(&patterns, "|\"", parent, " ", alias, "\"");
      }
      absl::StrAppend(&names, "      ", patterns, ") path=\"", path, "\" ;;\n");
    }
    std::string kinds;
    absl::string_view files;
    for (const OptionInfo& positional : command.positionals) {
      if (kinds.empty()) kinds = DynamicKinds(positional);
      if (files.empty()) files = FilesOf(positional);
      kinds = kinds.empty() ? absl::StrJoin(positional.choices, " ") : kinds;
    }
    const bool dynamic = !command.positionals.empty() && command.positionals[0].choices.empty();
    absl::StrAppend(
        &tables, "    \"", path, "\") known=\"", WordsOf(root, command), "\"",
        kinds.empty() ? "" : absl::StrCat(dynamic ? " kinds=\"" : " more=\"", kinds, "\""),
        files.empty() ? "" : absl::StrCat(" files=", files), " ;;\n");
    for (const OptionInfo& option : command.options) {
      if (option.value.empty()) continue;
      // Options of the program itself are good after every command.
      const std::string where = path.empty() ? "*" : absl::StrCat("\"", path, "\"");
      const std::string kind = DynamicKinds(option);
      for (const std::string& name : option.names) {
        absl::StrAppend(&values, "    ", where, "\" ", name, "\") known=\"",
                        absl::StrJoin(option.choices, " "), "\" kinds=\"", kind,
                        "\" more=\"\" files=\"", FilesOf(option), "\" ;;\n");
      }
    }
  });
  return absl::StrCat(
      "  local path=\"\" foreign=\"\" word known=\"\" kinds=\"\" more=\"\" files=\"\" kind "
      "taking=\"\"\n"
      "  local -a where=()\n"
      "  for word in \"${before[@]}\"; do\n"
      "    if [[ -n $taking ]]; then\n"
      "      where+=(\"$taking=${word/#\\~\\//$HOME/}\") taking=\"\"\n"
      "      continue\n"
      "    fi\n"
      "    case \"$word\" in\n"
      "      --address|--root) taking=\"$word\" ;;\n"
      "      --address=*|--root=*) where+=(\"$word\") ;;\n"
      "    esac\n"
      // What follows are the words of another command, for `plimsoll exec`.
      "    if [[ $word == -- ]]; then foreign=1; break; fi\n  ",
      names, "    esac\n  done\n", tables, "  esac\n", values, "  esac\n",
      "  if [[ -n $foreign ]]; then known=\"\" kinds=\"\" more=\"\" files=any; fi\n",
      "  for kind in ${=kinds}; do\n"
      "    more=\"$more $(plimsoll \"${where[@]}\" __complete \"$kind\" 2>/dev/null"
      " | tr '\\n' ' ')\"\n"
      "  done\n");
}

std::string BashScript(const CommandInfo& root) {
  return absl::StrCat(
      "# bash completion for plimsoll\n_plimsoll() {\n"
      "  local cur=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
      // bash takes a word apart at = and :, as in --address=unix:///run/a.sock.
      "  local part glued=\"\"\n"
      "  local -a before=()\n"
      "  for part in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
      "    if [[ ${#before[@]} -gt 0 && ( -n $glued || $part =~ ^[:=]+$ ) ]]; then\n"
      "      before[-1]+=\"$part\"\n"
      "    else\n"
      "      before+=(\"$part\")\n"
      "    fi\n"
      "    if [[ $part =~ ^[:=]+$ ]]; then glued=1; else glued=\"\"; fi\n"
      "  done\n",
      absl::StrReplaceAll(ShellBody(root), {{"${=kinds}", "$kinds"}}),
      "  COMPREPLY=($(compgen -W \"$known $more\" -- \"$cur\"))\n"
      "  case \"$files\" in\n"
      "    any) COMPREPLY+=($(compgen -f -- \"$cur\")) ;;\n"
      "    directories) COMPREPLY+=($(compgen -d -- \"$cur\")) ;;\n"
      "  esac\n"
      "}\ncomplete -o filenames -F _plimsoll plimsoll\n");
}

std::string ZshScript(const CommandInfo& root) {
  return absl::StrCat(
      "#compdef plimsoll\n_plimsoll() {\n"
      "  local previous=\"${words[CURRENT-1]}\"\n"
      "  local -a before=(\"${(@)words[2,CURRENT-1]}\")\n",
      // `path` is tied to PATH in zsh.
      absl::StrReplaceAll(ShellBody(root), {{"path", "at"}}),
      "  compadd -- ${=known} ${=more}\n"
      "  case \"$files\" in\n"
      "    any) _files ;;\n"
      "    directories) _files -/ ;;\n"
      "  esac\n"
      "}\ncompdef _plimsoll plimsoll\n");
}

constexpr absl::string_view kFishDirectories = "'(__fish_complete_directories)'";
// Names of the daemon that the line's own --address or --root means.
constexpr absl::string_view kFishNames = R"(function __plimsoll_names
    set -l where
    set -l taking
    for word in (commandline -opc)
        if test -n "$taking"
            set -a where "$taking="(string replace -r '^~/' "$HOME/" -- $word)
            set taking
            continue
        end
        switch $word
            case --
                break
            case --address --root
                set taking $word
            case '--address=*' '--root=*'
                set -a where $word
        end
    end
    plimsoll $where __complete $argv 2>/dev/null
end
)";

std::string FishQuote(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

std::string FirstSentence(absl::string_view text) {
  return std::string(text.substr(0, text.find("\n")));
}

void AddFishOption(const OptionInfo& option, const std::string& condition, std::string& script) {
  std::string line = absl::StrCat("complete -c plimsoll", condition);
  for (const std::string& name : option.names) {
    absl::StrAppend(&line, absl::StartsWith(name, "--") ? " -l " : " -s ",
                    name.substr(absl::StartsWith(name, "--") ? 2 : 1));
  }
  if (FilesOf(option) == "any") {
    absl::StrAppend(&line, " -r -F");
  } else if (!option.value.empty()) {
    absl::StrAppend(&line, " -x");
  }
  const std::string kinds = DynamicKinds(option);
  if (!option.choices.empty()) {
    absl::StrAppend(&line, " -a ", FishQuote(absl::StrJoin(option.choices, " ")));
  } else if (!kinds.empty()) {
    absl::StrAppend(&line, " -a ", FishQuote(absl::StrCat("(__plimsoll_names ", kinds, ")")));
  } else if (FilesOf(option) == "directories") {
    absl::StrAppend(&line, " -a ", kFishDirectories);
  }
  absl::StrAppend(&script, line, " -d ", FishQuote(option.description), "\n");
}

std::string FishScript(const CommandInfo& root) {
  std::string script =
      absl::StrCat("# fish completion for plimsoll\n", kFishNames, "complete -c plimsoll -f\n");
  for (const OptionInfo& option : root.options) AddFishOption(option, "", script);
  Walk(root, "", [&](const CommandInfo& command, const std::string& path) {
    std::string seen;
    for (const absl::string_view part : absl::StrSplit(path, ' ', absl::SkipEmpty())) {
      absl::StrAppend(&seen, seen.empty() ? "" : "; and ", "__fish_seen_subcommand_from ", part);
    }
    std::vector<std::string> subs;
    for (const CommandInfo& sub : command.commands) subs.push_back(sub.name);
    const std::string none_yet =
        absl::StrCat(seen, seen.empty() ? "" : "; and ", "not __fish_seen_subcommand_from ",
                     absl::StrJoin(subs, " "));
    for (const CommandInfo& sub : command.commands) {
      absl::StrAppend(&script, "complete -c plimsoll -n ", FishQuote(none_yet), " -a ", sub.name,
                      " -d ", FishQuote(FirstSentence(sub.description)), "\n");
    }
    if (path.empty()) return;
    const std::string condition = absl::StrCat(" -n ", FishQuote(seen));
    for (const OptionInfo& option : command.options) AddFishOption(option, condition, script);
    for (const OptionInfo& positional : command.positionals) {
      const std::string kinds = DynamicKinds(positional);
      if (!positional.choices.empty()) {
        absl::StrAppend(&script, "complete -c plimsoll", condition, " -a ",
                        FishQuote(absl::StrJoin(positional.choices, " ")), "\n");
      } else if (!kinds.empty()) {
        absl::StrAppend(&script, "complete -c plimsoll", condition, " -a ",
                        FishQuote(absl::StrCat("(__plimsoll_names ", kinds, ")")), "\n");
      } else if (FilesOf(positional) == "any") {
        absl::StrAppend(&script, "complete -c plimsoll", condition, " -F\n");
      } else if (FilesOf(positional) == "directories") {
        absl::StrAppend(&script, "complete -c plimsoll", condition, " -a ", kFishDirectories, "\n");
      }
    }
  });
  return script;
}

}  // namespace

std::string CompletionScript(const CommandInfo& tree, const std::string& shell) {
  if (shell == "bash") return BashScript(tree);
  if (shell == "zsh") return ZshScript(tree);
  if (shell == "fish") return FishScript(tree);
  return "";
}

std::string CompletionNames(const std::set<std::string>& names) {
  std::string lines;
  for (const std::string& name : names) {
    if (ShellQuote(name) == name) absl::StrAppend(&lines, name, "\n");
  }
  return lines;
}

}  // namespace plimsoll::cli
