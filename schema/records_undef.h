// Undefines the macros of records.def, so that the list can be included again with other meanings.
// Without an include guard on purpose.
#undef HP_RECORD
#undef HP_U8
#undef HP_U16
#undef HP_U32
#undef HP_U64
#undef HP_I32
#undef HP_I64
#undef HP_ADDR
#undef HP_HASH
#undef HP_TEXT
#undef HP_END
