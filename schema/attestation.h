// A verdict about an archive as an in-toto Statement v1 with a test-result predicate v0.1
// (in-toto.io/attestation/test-result/v0.1), in a signed DSSE envelope beside the bag.
//
// It is about the bytes of the two manifests, and so about every file that they name.
#pragma once

#include "schema/envelope.h"

#include <optional>
#include <string>
#include <vector>

namespace hitproof::schema {

struct TestResult {
  std::string result;                              // PASSED, WARNED, FAILED
  std::vector<std::string> passed, warned, failed; // names of tests
  std::string program_version;                     // of the program that judged
  Digest program{};                                // SHA-256 of its executable
};

// The statement's JSON. Errors: not_found, io_error (a manifest cannot be read).
Result<std::string> make_statement(const std::string& dir, const TestResult& result);
// Signs and writes `<dir>/attestation.dsse.json`. Errors: invalid_argument (one is there already,
// the key cannot sign), those of make_statement, no_space, io_error.
Status attest(const std::string& dir, const TestResult& result, const SigningKey& key);

struct Claim {
  std::string result;
  std::string key_id;
  std::vector<std::string> passed, warned, failed;
};

// Reads an envelope's statement. Errors: corruption.
Result<Claim> read_statement(const Envelope& envelope, const Digest& manifest,
                             const Digest& tag_manifest);
// What `<dir>/attestation.dsse.json` claims about this archive; with a key, that it is signed by
// it. Errors: not_found where there is none; corruption says what is wrong: its form, the
// signature, another archive; io_error.
Result<Claim> check_attestation(const std::string& dir, const SigningKey* key);

} // namespace hitproof::schema
