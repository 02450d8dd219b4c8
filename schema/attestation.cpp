#include "schema/attestation.h"

#include "schema/archive.h"
#include "schema/bag.h"
#include "schema/plain_file.h"
#include "schema/whole_file.h"

#include <filesystem>
#include <nlohmann/json.hpp>

namespace hitproof::schema {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* payload_type = "application/vnd.in-toto+json";
constexpr const char* statement_type = "https://in-toto.io/Statement/v1";
constexpr const char* predicate_type = "https://in-toto.io/attestation/test-result/v0.1";

Status refused(const std::string& why) { return Status(Code::corruption, why); }

Json resource(const std::string& name, const Digest& digest) {
  return {{"name", name}, {"digest", {{"sha256", to_hex(digest)}}}};
}

struct ManifestDigests {
  Digest manifest, tag_manifest;
};

Result<ManifestDigests> hash_manifests(const std::string& dir) {
  const auto digests = hash_plain_files({dir + "/" + bag::manifest, dir + "/" + bag::tag_manifest});
  for (const auto& digest : digests)
    if (!digest.ok()) return digest.status();
  return ManifestDigests{*digests[0], *digests[1]};
}

bool says(const nlohmann::json& object, const char* key, const char* text) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() && at->get<std::string>() == text;
}

std::vector<std::string> texts_at(const nlohmann::json& object, const char* key) {
  std::vector<std::string> texts;
  const auto list = object.find(key);
  if (list == object.end() || !list->is_array()) return texts;
  for (const auto& item : *list)
    if (item.is_string()) texts.push_back(item.get<std::string>());
  return texts;
}

// Whether the statement's subjects are the two manifests, each once, and nothing else.
bool is_about(const nlohmann::json& statement, const Digest& manifest, const Digest& tag_manifest) {
  const nlohmann::json expected = {resource(bag::manifest, manifest),
                                   resource(bag::tag_manifest, tag_manifest)};
  const auto subject = statement.find("subject");
  return subject != statement.end() && *subject == expected;
}

} // namespace

Result<std::string> make_statement(const std::string& dir, const TestResult& result) {
  const auto digests = hash_manifests(dir);
  if (!digests.ok()) return digests.status();
  Json configuration = Json::array();
  const auto plan = hash_plain_files({dir + "/data/plan.toml"}).front();
  if (plan.ok()) configuration.push_back(resource("data/plan.toml", *plan));
  if (!plan.ok() && plan.code() != Code::not_found) return plan.status();
  Json program = resource("hitproof", result.program);
  program["annotations"] = {{"version", result.program_version}};
  configuration.push_back(program);
  Json statement;
  statement["_type"] = statement_type;
  statement["subject"] = {resource(bag::manifest, digests->manifest),
                          resource(bag::tag_manifest, digests->tag_manifest)};
  statement["predicateType"] = predicate_type;
  statement["predicate"]["result"] = result.result;
  statement["predicate"]["configuration"] = configuration;
  statement["predicate"]["passedTests"] = result.passed;
  statement["predicate"]["warnedTests"] = result.warned;
  statement["predicate"]["failedTests"] = result.failed;
  return statement.dump();
}

Status attest(const std::string& dir, const TestResult& result, const SigningKey& key) {
  namespace fs = std::filesystem;
  const std::string path = dir + "/" + attestation_file;
  std::error_code error;
  if (fs::exists(fs::symlink_status(path, error)))
    return Status(Code::invalid_argument, path + " is there already; remove it to sign again");
  auto statement = make_statement(dir, result);
  if (!statement.ok()) return statement.status();
  const auto envelope = seal(payload_type, std::move(*statement), key);
  if (!envelope.ok()) return envelope.status();
  // Half an envelope would be a damaged one, and so would an archive to which a file was added.
  return write_whole(path, write_envelope(*envelope));
}

Result<Claim> read_statement(const Envelope& envelope, const Digest& manifest,
                             const Digest& tag_manifest) {
  if (envelope.payload_type != payload_type)
    return refused("holds \"" + envelope.payload_type + "\" instead of an in-toto statement");
  const auto statement = nlohmann::json::parse(envelope.payload, nullptr, false);
  if (!statement.is_object() || !says(statement, "_type", statement_type))
    return refused("holds no in-toto statement of version 1");
  if (!says(statement, "predicateType", predicate_type)) return refused("holds no test result");
  if (!is_about(statement, manifest, tag_manifest))
    return refused("is about another archive: its digests are not those of the manifests here");
  const auto predicate = statement.find("predicate");
  const bool stated =
      predicate != statement.end() && predicate->is_object() &&
      (says(*predicate, "result", "PASSED") || says(*predicate, "result", "WARNED") ||
       says(*predicate, "result", "FAILED"));
  if (!stated) return refused("states no result");
  return Claim{(*predicate)["result"].get<std::string>(), envelope.key_id,
               texts_at(*predicate, "passedTests"), texts_at(*predicate, "warnedTests"),
               texts_at(*predicate, "failedTests")};
}

Result<Claim> check_attestation(const std::string& dir, const SigningKey* key) {
  const auto text = bag::read_text(dir + "/" + attestation_file, max_envelope_bytes);
  if (!text.ok()) return text.status();
  const auto envelope = parse_envelope(*text);
  if (!envelope.ok()) return envelope.status();
  if (key != nullptr && envelope->key_id != key->id())
    return refused("is signed by key " + envelope->key_id + ", not by " + key->id());
  if (key != nullptr && !is_sealed_by(*envelope, *key))
    return refused("its signature is not that of this text by key " + key->id());
  const auto digests = hash_manifests(dir);
  if (digests.code() == Code::not_found)
    return refused("is about manifests, and one of them is not there");
  if (!digests.ok()) return digests.status();
  return read_statement(*envelope, digests->manifest, digests->tag_manifest);
}

} // namespace hitproof::schema
