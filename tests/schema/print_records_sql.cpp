// Prints the text that schema/records.sql must hold.
#include "schema/record_table.h"

#include <cstdio>

int main() { return std::fputs(hitproof::schema::records_sql().c_str(), stdout) < 0; }
