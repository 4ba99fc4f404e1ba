#include <functional>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "cli/command_tree.h"
#include "cli/terminal/text.h"

namespace plimsoll::cli {
namespace {

// Commands to which a container that has ended is of no use.
bool WantsRunning(absl::string_view path) {
  static constexpr absl::string_view kCommands[] = {"assign", "attach", "exec", "stop", "update"};
  return absl::c_linear_search(kCommands, path);
}

// The kind for the value of --container, a name without its pod's.
absl::string_view ContainerNamesFor(absl::string_view path) {
  if (path == "resize pod") return "agent-container-names";
  return WantsRunning(path) ? "running-names" : "container-names";
}

// The kind that `plimsoll __complete` lists for a value of this name after the command at `path`;
// empty: none.
std::string DynamicKinds(const OptionInfo& option, absl::string_view path) {
  std::vector<std::string> kinds;
  for (const absl::string_view part : absl::StrSplit(option.value, '|')) {
    if (part == "POD") kinds.emplace_back("pods");
    if (part == "CONTAINER") kinds.emplace_back(WantsRunning(path) ? "running" : "containers");
    if (part == "TYPE=CLASS") kinds.emplace_back("classes");
    if (part == "CONTAINER-NAME") kinds.emplace_back(ContainerNamesFor(path));
    if (part == "POD-NAME" || part == "POD-NAME[/CONTAINER]") kinds.emplace_back("agent-pods");
    if (part == "POD-NAME[/CONTAINER]") kinds.emplace_back("agent-containers");
    if (part == "IMAGE") kinds.emplace_back("images");
    if (part == "PLUGIN") kinds.emplace_back("plugins");
    if (part == "SOURCE" || part == "TARGET") kinds.emplace_back("places");
  }
  return absl::StrJoin(kinds, " ");
}

// The kind of file that completes a value of this name.
absl::string_view FilesOf(const OptionInfo& option) {
  if (option.value == "DIRECTORY") return "directories";
  const bool any = option.value == "FILE" || option.value == "SOURCE" || option.value == "TARGET";
  return any ? "any" : "";
}

void Walk(const CommandInfo& command, const std::string& path,
          const std::function<void(const CommandInfo&, const std::string&)>& visit) {
  visit(command, path);
  for (const CommandInfo& sub : command.commands) {
    Walk(sub, path.empty() ? sub.name : absl::StrCat(path, " ", sub.name), visit);
  }
}

// The global option -o, which some commands refuse.
bool IsOutput(const OptionInfo& option) {
  return absl::c_linear_search(option.names, "--output");
}

std::string WordsOf(const CommandInfo& root, const CommandInfo& command) {
  std::vector<std::string> words;
  for (const CommandInfo& sub : command.commands) words.push_back(sub.name);
  for (const std::vector<OptionInfo>* options : {&command.options, &root.options}) {
    for (const OptionInfo& option : *options) {
      if (options == &root.options && command.has_one_form && IsOutput(option)) continue;
      for (const std::string& name : option.names) {
        if (!absl::c_linear_search(words, name)) words.push_back(name);
      }
    }
    if (&command == &root) break;
  }
  return absl::StrJoin(words, " ");
}

// Settings of the script's variables for a command's arguments: ` kinds="pods" files=any`.
// `further` has the kinds of the words behind the first one.
std::string ArgumentsOf(const CommandInfo& command, const std::string& path) {
  std::string kinds;
  std::string further;
  absl::string_view files;
  for (const OptionInfo& positional : command.positionals) {
    if (!kinds.empty()) further = DynamicKinds(positional, path);
    if (kinds.empty()) kinds = DynamicKinds(positional, path);
    if (files.empty()) files = FilesOf(positional);
    kinds = kinds.empty() ? absl::StrJoin(positional.choices, " ") : kinds;
  }
  const bool dynamic = !command.positionals.empty() && command.positionals[0].choices.empty();
  return absl::StrCat(
      kinds.empty() ? "" : absl::StrCat(dynamic ? " kinds=\"" : " more=\"", kinds, "\""),
      further.empty() ? "" : absl::StrCat(" further=\"", further, "\""),
      files.empty() ? "" : absl::StrCat(" files=", files));
}

// The part that bash and zsh share. It finds the command's path in the line and, from it, the words
// that may follow. It uses only constructs of both shells; `before` and `previous` are set by the
// caller. Names come from the daemon or agent that the line's own options name.
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
      absl::StrAppend(&names, "      ", patterns, ") path=\"", path, "\" named=\"\" ;;\n");
    }
    absl::StrAppend(&tables, "    \"", path, "\") known=\"", WordsOf(root, command), "\"",
                    ArgumentsOf(command, path), " ;;\n");
    for (const OptionInfo& option : command.options) {
      if (option.value.empty()) continue;
      // Options of the program are valid after every command.
      const std::string where = path.empty() ? "*" : absl::StrCat("\"", path, "\"");
      const std::string kind = DynamicKinds(option, path);
      for (const std::string& name : option.names) {
        absl::StrAppend(&values, "    ", where, "\" ", name, "\") known=\"",
                        absl::StrJoin(option.choices, " "), "\" kinds=\"", kind,
                        "\" further=\"\" more=\"\" files=\"", FilesOf(option), "\" ;;\n");
      }
    }
  });
  return absl::StrCat(
      "  local path=\"\" foreign=\"\" word known=\"\" kinds=\"\" more=\"\" files=\"\" kind "
      "taking=\"\" further=\"\" named=\"\"\n"
      "  local -a where=()\n"
      "  for word in \"${before[@]}\"; do\n"
      "    if [[ -n $taking ]]; then\n"
      "      where+=(\"$taking=${word/#\\~\\//$HOME/}\") taking=\"\"\n"
      "      continue\n"
      "    fi\n"
      "    case \"$word\" in\n"
      "      --address|--root|--agent) taking=\"$word\" ;;\n"
      "      --address=*|--root=*|--agent=*) where+=(\"$word\") ;;\n"
      "    esac\n"
      // The words behind belong to another command, as for `plimsoll exec`.
      "    if [[ $word == -- ]]; then foreign=1; break; fi\n  ",
      names, "      *\" -\"*) ;;\n      *) named=1 ;;\n    esac\n  done\n", tables, "  esac\n",
      "  if [[ -n $further && -n $named ]]; then kinds=\"$further\"; fi\n", values, "  esac\n",
      "  if [[ -n $foreign ]]; then known=\"\" kinds=\"\" more=\"\" files=any; fi\n",
      "  for kind in ${=kinds}; do\n"
      "    more=\"$more $(plimsoll \"${where[@]}\" __complete \"$kind\" 2>/dev/null"
      " | tr '\\n' ' ')\"\n"
      "  done\n");
}

// bash splits words at = and :, as in --address=unix:///run/a.sock and busybox:1.36. This joins
// them again, in `before` and `cur`.
constexpr absl::string_view kBashWords = R"(  local part glued="" cur="" previous="" lead=""
  local -a before=()
  for part in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
    if [[ ${#before[@]} -gt 0 && ( -n $glued || $part =~ ^[:=]+$ ) ]]; then
      before[-1]+="$part"
    else
      before+=("$part")
    fi
    if [[ $part =~ ^[:=]+$ ]]; then glued=1; else glued=""; fi
  done
  cur="${before[-1]}"
  unset "before[-1]"
  if [[ ${#before[@]} -gt 0 ]]; then previous="${before[-1]}"; fi
  if [[ $cur == --*=* ]]; then
    lead="${cur%%=*}=" previous="${cur%%=*}" cur="${cur#*=}"
  fi
)";

// readline replaces only the text behind the last = or : of COMP_WORDBREAKS. It puts a backslash
// before each colon of a name of a file, so only such names are marked as files. A word that ends
// with a colon continues with a path.
constexpr absl::string_view kBashReply =
    R"(  mapfile -t COMPREPLY < <(compgen -P "$lead" -W "$known $more" -- "$cur")
  if [[ " ${COMPREPLY[*]} " == *": "* ]]; then
    compopt -o nospace 2>/dev/null
    files=""
  fi
  if [[ -n $files ]]; then
    compopt -o filenames 2>/dev/null
    kind=-f
    if [[ $files == directories ]]; then kind=-d; fi
    mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -P "$lead" "$kind" -- "$cur")
  fi
  local start="" mark
  for mark in : =; do
    part="$lead$cur"
    if [[ $COMP_WORDBREAKS != *$mark* || $part != *$mark* ]]; then continue; fi
    part="${part%"$mark"*}$mark"
    if [[ ${#part} -gt ${#start} ]]; then start="$part"; fi
  done
  COMPREPLY=("${COMPREPLY[@]#"$start"}")
)";

std::string BashScript(const CommandInfo& root) {
  return absl::StrCat("# bash completion for plimsoll\n_plimsoll() {\n", kBashWords,
                      absl::StrReplaceAll(ShellBody(root), {{"${=kinds}", "$kinds"}}), kBashReply,
                      "}\ncomplete -F _plimsoll plimsoll\n");
}

// An autoloaded function's file makes the function's first call.
constexpr absl::string_view kZshEnd = R"(  local -a all=(${=more})
  compadd -- ${=known} ${all:#*:}
  if [[ $more == *:* ]]; then compadd -S '' -- ${(M)all:#*:}; fi
  case "$files" in
    any) _files ;;
    directories) _files -/ ;;
  esac
}
if [[ $funcstack[1] == _plimsoll ]]; then _plimsoll "$@"; else compdef _plimsoll plimsoll; fi
)";

std::string ZshScript(const CommandInfo& root) {
  return absl::StrCat(
      "#compdef plimsoll\n_plimsoll() {\n"
      "  local previous=\"${words[CURRENT-1]}\"\n"
      "  local -a before=(\"${(@)words[2,CURRENT-1]}\")\n"
      "  if [[ ${words[CURRENT]} == --*=* ]]; then\n"
      "    previous=\"${words[CURRENT]%%=*}\"\n"
      "    compset -P 1 '*='\n"
      "  fi\n",
      // zsh ties `path` to PATH.
      absl::StrReplaceAll(ShellBody(root), {{"path", "at"}}), kZshEnd);
}

constexpr absl::string_view kFishDirectories = "'(__fish_complete_directories)'";
// Names from the daemon or agent that the line's own options name.
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
            case --address --root --agent
                set taking $word
            case '--address=*' '--root=*' '--agent=*'
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

// `path`: of the option's command.
void AddFishOption(const OptionInfo& option, absl::string_view path, const std::string& condition,
                   std::string& script) {
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
  const std::string kinds = DynamicKinds(option, path);
  if (!option.choices.empty()) {
    absl::StrAppend(&line, " -a ", FishQuote(absl::StrJoin(option.choices, " ")));
  } else if (!kinds.empty()) {
    absl::StrAppend(&line, " -a ", FishQuote(absl::StrCat("(__plimsoll_names ", kinds, ")")));
  } else if (FilesOf(option) == "directories") {
    absl::StrAppend(&line, " -a ", kFishDirectories);
  }
  absl::StrAppend(&script, line, " -d ", FishQuote(option.description), "\n");
}

// A function that says whether the line's command is the given one, as "image remove". The command
// is "--" once the words of another command have begun.
std::string FishPlace(const CommandInfo& root) {
  std::string cases;
  Walk(root, "", [&](const CommandInfo& command, const std::string& path) {
    if (path.empty()) return;
    const std::string parent = path.substr(0, path.size() - command.name.size());
    const std::string before = parent.empty() ? " " : parent;
    absl::StrAppend(&cases, "            case ", FishQuote(before + command.name));
    for (const std::string& alias : command.aliases) {
      absl::StrAppend(&cases, " ", FishQuote(before + alias));
    }
    absl::StrAppend(&cases, "\n                set path ", FishQuote(path), "\n");
  });
  return absl::StrCat(R"(function __plimsoll_at
    set -l path ''
    set -l taking ''
    set -l words (commandline -opc)
    set -e words[1]
    for word in $words
        if test -n "$taking"
            set taking ''
            continue
        end
        switch $word
            case --
                set path --
                break
            case --address --root --agent
                set taking $word
                continue
        end
        switch "$path $word"
)",
                      cases, R"(        end
    end
    test "$path" = "$argv[1]"
end
)");
}

std::string FishAt(const std::string& path) {
  return absl::StrCat(" -n ", FishQuote(absl::StrCat("__plimsoll_at ", FishQuote(path))));
}

std::string FishAtCommandWithForms(const CommandInfo& root) {
  std::vector<std::string> conditions;
  for (const CommandInfo& command : root.commands) {
    if (!command.has_one_form) continue;
    conditions.push_back(absl::StrCat("not __plimsoll_at ", FishQuote(command.name)));
  }
  return absl::StrCat(" -n ", FishQuote(absl::StrJoin(conditions, "; and ")));
}

void AddFishPositional(const OptionInfo& positional, absl::string_view path,
                       const std::string& condition, std::string& script) {
  const std::string kinds = DynamicKinds(positional, path);
  std::string what;
  if (!positional.choices.empty()) {
    what = absl::StrCat(" -a ", FishQuote(absl::StrJoin(positional.choices, " ")));
  } else if (!kinds.empty()) {
    what = absl::StrCat(" -a ", FishQuote(absl::StrCat("(__plimsoll_names ", kinds, ")")),
                        FilesOf(positional) == "any" ? " -F" : "");
  } else if (FilesOf(positional) == "any") {
    what = " -F";
  } else if (FilesOf(positional) == "directories") {
    what = absl::StrCat(" -a ", kFishDirectories);
  }
  if (!what.empty()) absl::StrAppend(&script, "complete -c plimsoll", condition, what, "\n");
}

std::string FishScript(const CommandInfo& root) {
  std::string script =
      absl::StrCat("# fish completion for plimsoll\n", kFishNames, FishPlace(root),
                   "complete -c plimsoll -f\n", "complete -c plimsoll", FishAt("--"), " -F\n");
  for (const OptionInfo& option : root.options) {
    AddFishOption(option, "", IsOutput(option) ? FishAtCommandWithForms(root) : "", script);
  }
  Walk(root, "", [&](const CommandInfo& command, const std::string& path) {
    const std::string condition = FishAt(path);
    for (const CommandInfo& sub : command.commands) {
      absl::StrAppend(&script, "complete -c plimsoll", condition, " -a ", sub.name, " -d ",
                      FishQuote(FirstSentence(sub.description)), "\n");
    }
    if (path.empty()) return;
    for (const OptionInfo& option : command.options) AddFishOption(option, path, condition, script);
    for (const OptionInfo& positional : command.positionals) {
      AddFishPositional(positional, path, condition, script);
    }
  });
  return script;
}

// Commands without their options and arguments, for `plimsoll help`.
std::vector<CommandInfo> NamesOnly(const std::vector<CommandInfo>& commands) {
  std::vector<CommandInfo> names;
  for (const CommandInfo& command : commands) {
    if (command.name == "help") continue;
    CommandInfo name;
    name.name = command.name;
    name.aliases = command.aliases;
    name.description = command.description;
    name.has_one_form = true;
    name.commands = NamesOnly(command.commands);
    names.push_back(std::move(name));
  }
  return names;
}

CommandInfo WithNamesAfterHelp(CommandInfo tree) {
  const std::vector<CommandInfo> names = NamesOnly(tree.commands);
  for (CommandInfo& command : tree.commands) {
    if (command.name == "help") command.commands = names;
  }
  return tree;
}

}  // namespace

std::string CompletionScript(const CommandInfo& described, const std::string& shell) {
  const CommandInfo tree = WithNamesAfterHelp(described);
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
