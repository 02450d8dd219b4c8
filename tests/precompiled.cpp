// The program whose precompiled headers the tests reuse; tests/CMakeLists.txt lists them.
int main() {}
