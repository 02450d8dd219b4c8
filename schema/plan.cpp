// Reading a plan; plan_write.cpp writes one, plan_rules.cpp says what it must obey.
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#include "schema/plan.h"

#include "schema/bag.h"
#include "schema/plan_rules.h"

#include <limits>
#include <map>
#include <set>
#include <toml++/toml.h>

namespace hitproof::schema {
namespace {

// Takes values out of a TOML document, remembers where each one stood and which keys were asked
// for, and keeps the first thing that was wrong.
class Reader {
 public:
  Reader(const toml::table& root, std::string_view name) : root_(root), name_(name) {}

  void fail(std::uint32_t line, const std::string& message, Code code = Code::invalid_argument) {
    if (status_.ok()) status_ = Status(code, name_ + ":" + std::to_string(line) + ": " + message);
  }
  void fail_at(const std::string& key, const std::string& message, Code code) {
    const auto it = lines_.find(key);
    fail(it == lines_.end() ? 1 : it->second, key + ": " + message, code);
  }
  const Status& status() const { return status_; }

  void text(const std::string& key, std::string* out) {
    if (const toml::node* node = find(key)) take(*node, key, out);
  }
  template <class T> void number(const std::string& key, T* out) {
    if (const toml::node* node = find(key)) take(*node, key, out);
  }
  template <class T> void list(const std::string& key, std::vector<T>* out) {
    const toml::node* node = find(key);
    if (node == nullptr) return;
    const toml::array* array = node->as_array();
    if (array == nullptr) return fail(line_of(*node), key + ": a list in brackets is wanted");
    out->clear();
    for (const toml::node& element : *array) {
      T value{};
      take(element, key, &value);
      out->push_back(std::move(value));
    }
  }

  void take(const toml::node& node, const std::string& key, std::string* out) {
    if (const auto value = node.value_exact<std::string>())
      *out = *value;
    else
      fail(line_of(node), key + ": a text in quotes is wanted");
  }
  template <class T>
  requires std::is_integral_v<T>
  void take(const toml::node& node, const std::string& key, T* out) {
    const auto value = node.value_exact<std::int64_t>();
    if (!value) return fail(line_of(node), key + ": a whole number is wanted");
    if (!std::in_range<T>(*value))
      return fail(line_of(node), key + ": " + std::to_string(*value) + " is out of range");
    *out = static_cast<T>(*value);
  }
  void take(const toml::node& node, const std::string& key, ProfileChoice* out) {
    const toml::table* table = node.as_table();
    if (table == nullptr)
      return fail(line_of(node), key + ": wanted is { rank = 0, name = \"...\", value = \"...\" }");
    for (const auto& [field, value] : *table) {
      if (field == "rank")
        take(value, key + ".rank", &out->rank);
      else if (field == "name")
        take(value, key + ".name", &out->name);
      else if (field == "value")
        take(value, key + ".value", &out->value);
      else
        fail(line_of(value), key + ": unknown key \"" + std::string(field.str()) + "\"");
    }
  }

  // Refuses every key that nobody asked for: a misspelt key must not silently mean the default.
  void refuse_unknown() {
    for (const auto& [section, node] : root_) {
      const std::string name(section.str());
      const toml::table* table = node.as_table();
      if (table == nullptr || asked_.contains(name)) {
        if (!asked_.contains(name)) fail(key_line(section), "unknown key \"" + name + "\"");
        continue;
      }
      if (!sections_.contains(name)) fail(key_line(section), "unknown section [" + name + "]");
      for (const auto& [key, value] : *table)
        if (!asked_.contains(name + "." + std::string(key.str())))
          fail(key_line(key), "unknown key \"" + std::string(key.str()) + "\" in [" + name + "]");
    }
  }

 private:
  static std::uint32_t line_of(const toml::node& node) { return node.source().begin.line; }
  static std::uint32_t key_line(const toml::key& key) { return key.source().begin.line; }

  const toml::node* find(const std::string& key) {
    asked_.insert(key);
    const toml::table* table = &root_;
    std::string leaf = key;
    if (const std::size_t dot = key.find('.'); dot != std::string::npos) {
      const std::string section = key.substr(0, dot);
      leaf = key.substr(dot + 1);
      sections_.insert(section);
      const toml::node* found = root_.get(section);
      if (found == nullptr) return nullptr;
      table = found->as_table();
      if (table == nullptr) {
        fail(line_of(*found), "[" + section + "] must be a section");
        return nullptr;
      }
    }
    const toml::node* node = table->get(leaf);
    if (node != nullptr) lines_[key] = line_of(*node);
    return node;
  }

  const toml::table& root_;
  std::string name_;
  std::map<std::string, std::uint32_t> lines_;
  std::set<std::string> asked_;
  std::set<std::string> sections_;
  Status status_;
};

} // namespace

Result<Plan> parse_plan(std::string_view toml, std::string_view name) {
  const toml::parse_result parsed = toml::parse(toml, name);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return Status(Code::invalid_argument, std::string(name) + ":" +
                                              std::to_string(error.source().begin.line) + ": " +
                                              std::string(error.description()));
  }
  Reader reader(parsed.table(), name);
  Plan plan;
  reader.number("format", &plan.format);
  reader.text("study.kind", &plan.study);
  reader.text("study.preset", &plan.preset);
  reader.text("study.device", &plan.device);
  reader.text("study.device_name", &plan.device_name);
  reader.number("study.tp", &plan.tp);
  reader.text("study.collectives", &plan.collectives);
  reader.list("study.lengths", &plan.lengths);
  reader.number("study.tokens", &plan.tokens);
  reader.list("study.templates", &plan.templates);
  reader.number("study.bridge_length", &plan.bridge_length);
  reader.number("study.bridge_tokens", &plan.bridge_tokens);
  reader.number("study.trials", &plan.trials);
  reader.number("study.warmups", &plan.warmups);
  reader.list("study.arms", &plan.arms);
  reader.text("study.lookup", &plan.lookup);
  reader.text("study.probes", &plan.probes);
  reader.number("study.save_delay_ms", &plan.save_delay_ms);
  reader.text("study.break", &plan.break_name);
  reader.text("study.tail_effect", &plan.tail_effect);
  reader.number("seeds.weights", &plan.weight_seed);
  reader.number("seeds.prompts", &plan.prompt_seed);
  reader.text("acceptance.verdict", &plan.acceptance.verdict);
  reader.list("acceptance.must_pass", &plan.acceptance.must_pass);
  reader.list("acceptance.must_fail", &plan.acceptance.must_fail);
  reader.list("acceptance.refuted_lengths", &plan.acceptance.refuted_lengths);
  reader.list("profile.choices", &plan.profile);
  // A newer format may have keys of its own: say that it is newer, not that they are unknown.
  if (plan.format == 1) reader.refuse_unknown();
  if (!reader.status().ok()) return reader.status();
  if (const auto complaint = find_complaint(plan)) {
    reader.fail_at(complaint->key, complaint->message, complaint->code);
    return reader.status();
  }
  return plan;
}

Result<Plan> read_plan(const std::string& path) {
  constexpr std::size_t largest = std::size_t{1} << 20;
  Result<std::string> text = bag::read_text(path, largest);
  if (!text.ok()) return text.status();
  return parse_plan(*text, path);
}

Status validate_plan(const Plan& plan) {
  if (const auto complaint = find_complaint(plan))
    return Status(complaint->code, "plan: " + complaint->key + ": " + complaint->message);
  return {};
}

} // namespace hitproof::schema
