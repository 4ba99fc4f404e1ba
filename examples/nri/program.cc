#include "program.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <utility>

namespace plimsoll::examples {

int RunProgram(nri::Plugin& plugin, const ProgramText& text, int argc, char** argv) {
  nri::PluginOptions options;
  options.name = text.name;
  options.index = text.index;
  CLI::App app(text.purpose);
  app.footer(text.help +
             "\n\nA runtime starts it as /opt/nri/plugins/NN-NAME, with the configuration in "
             "/etc/nri/conf.d/NN-NAME.conf. Started by hand, it connects to the runtime's socket, "
             "and gets no configuration. A plugin is as good as root.");
  app.add_option("--name", options.name, "The plugin's name")->capture_default_str();
  app.add_option("--index", options.index,
                 "Its place among the plugins, 00 to 99: lower ones are asked first")
      ->capture_default_str();
  app.add_option("--socket", options.socket, "The runtime's socket")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const std::string name = options.name;
  const absl::Status end = nri::RunPlugin(plugin, std::move(options));
  if (end.ok()) return 0;
  std::cerr << name << ": " << end.message() << "\n";
  return 1;
}

}  // namespace plimsoll::examples
