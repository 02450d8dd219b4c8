#include "cli/study/prompt_texts.h"

#include "cli/study/mix.h"

#include <algorithm>

namespace hitproof::cli {
namespace {

class Numbers {
 public:
  Numbers(const std::string& about, uint64_t seed) : key_(mix(seed)) {
    for (char c : about)
      key_ = mix(key_ ^ static_cast<unsigned char>(c));
  }
  // In [low, high].
  int64_t next(int64_t low, int64_t high) {
    return low +
           static_cast<int64_t>(mix(key_ + counter_++) % static_cast<uint64_t>(high - low + 1));
  }

 private:
  uint64_t key_, counter_ = 0;
};

std::string text(int64_t n) { return std::to_string(n); }

std::string ledger(const std::string& name, std::size_t bytes, Numbers& numbers) {
  static const char* const accounts[] = {"rent", "paper", "repairs", "freight", "power", "postage"};
  int64_t balance = numbers.next(2000, 9000);
  std::string out = "Ledger " + name + ", opening balance " + text(balance) +
                    ". Every entry states the balance after it.\n";
  for (int64_t entry = 1; out.size() < bytes; ++entry) {
    const std::string account = accounts[numbers.next(0, 5)];
    const int64_t pieces = numbers.next(2, 9), price = numbers.next(3, 40);
    const int64_t amount = pieces * price;
    const bool spent = balance >= amount && numbers.next(0, 2) > 0;
    const int64_t before = balance;
    balance += spent ? -amount : amount;
    out += "Entry " + text(entry) + ": " + text(pieces) + " times " + text(price) + " is " +
           text(amount) + (spent ? ", paid for " : ", received back from ") + account + "; " +
           text(before) + (spent ? " minus " : " plus ") + text(amount) + " leaves " +
           text(balance) + ".\n";
  }
  return out;
}

std::string rules(const std::string& name, std::size_t bytes, Numbers& numbers) {
  // Constants of its own in every text, so that no two share a long passage: where a checkpoint
  // falls into one, small models forget what came before it.
  const int64_t most = numbers.next(400, 900), less = numbers.next(150, 390);
  const int64_t plus = numbers.next(3, 99), times = 2 * numbers.next(1, 3) + 1;
  const int64_t odd = 2 * numbers.next(0, 49) + 1;
  int64_t n = numbers.next(20, 999);
  std::string out = "规则 " + name + "：大于" + text(most) + "的减" + text(less) + "；偶数除以2加" +
                    text(plus) + "；奇数乘以" + text(times) + "加" + text(odd) +
                    "；依次用第一条适用的，从" + text(n) + "开始。\n";
  for (int64_t step = 1; out.size() < bytes; ++step) {
    out += "第" + text(step) + "步：现在是" + text(n) + "，";
    if (n > most) {
      n -= less;
      out += "用规则一，得" + text(n) + "。\n";
    } else if (n % 2 == 0) {
      n = n / 2 + plus;
      out += "用规则二，得" + text(n) + "。\n";
    } else {
      n = times * n + odd;
      out += "用规则三，得" + text(n) + "。\n";
    }
    // The rules lead into circles; a new number begins another chain.
    if (step % 8 == 0) {
      n = numbers.next(20, 999);
      out += "换一个数：" + text(n) + "。\n";
    }
  }
  return out;
}

std::string code(const std::string& name, std::size_t bytes, Numbers& numbers) {
  std::string out = "# Module " + name + ": what each function returns, and why.\n";
  for (int64_t f = 1; out.size() < bytes; ++f) {
    const int64_t factor = numbers.next(2, 9), term = numbers.next(1, 30);
    const int64_t modulus = numbers.next(5, 29), x = numbers.next(1, 50);
    const int64_t y = factor * x + term;
    const std::string call = "f" + text(f);
    out += "def " + call + "(x):\n    y = " + text(factor) + " * x + " + text(term) +
           "\n    return y % " + text(modulus) + "\n# " + call + "(" + text(x) + ") is " +
           text(y % modulus) + ": y becomes " + text(y) + ", and " + text(y) + " is " +
           text(y / modulus) + " times " + text(modulus) + " with " + text(y % modulus) +
           " left.\n";
  }
  return out;
}

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

} // namespace

std::string prompt_text(const std::string& prompt_template, const std::string& name,
                        std::size_t bytes, std::uint64_t seed) {
  Numbers numbers(prompt_template + " " + name, seed);
  std::string out;
  if (prompt_template == "ledger") out = ledger(name, bytes, numbers);
  if (prompt_template == "rules") out = rules(name, bytes, numbers);
  if (prompt_template == "code") out = code(name, bytes, numbers);
  std::size_t end = std::min(bytes, out.size());
  while (end > 0 && end < out.size() && continues_character(out[end]))
    --end;
  out.resize(end);
  out.resize(bytes, '.');
  return out;
}

} // namespace hitproof::cli
