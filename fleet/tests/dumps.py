"""A small heap dump with known objects, written byte by byte."""

import struct

STRING, LOAD_CLASS, FRAME, TRACE, SEGMENT, END = 0x01, 0x02, 0x04, 0x05, 0x1C, 0x2C
OBJECT, BYTE = 2, 8


class _Dump:
    def __init__(self):
        self.out = bytearray(b"JAVA PROFILE 1.0.2\0" + struct.pack(">IQ", 8, 0))
        self.strings, self.classes, self.heap = {}, {}, bytearray()
        self.record(TRACE, struct.pack(">III", 0, 0, 0))

    def record(self, tag, body):
        self.out += struct.pack(">BII", tag, 0, len(body)) + body

    def string(self, text):
        if text not in self.strings:
            self.strings[text] = 1000 + len(self.strings)
            self.record(STRING, struct.pack(">Q", self.strings[text]) + text.encode())
        return self.strings[text]

    def load(self, ident, name, above=0, fields=(), statics=(), loader=0, inherited=0):
        serial = 1 + len(self.classes)
        self.classes[ident] = serial
        self.record(LOAD_CLASS, struct.pack(">IQIQ", serial, ident, 0, self.string(name.replace(".", "/"))))
        size = 8 * (len(fields) + inherited)
        body = struct.pack(">BQIQQQQQQIHH", 0x20, ident, 0, above, loader, 0, 0, 0, 0, size, 0, len(statics))
        body += b"".join(struct.pack(">QBQ", self.string(field), OBJECT, value) for field, value in statics)
        body += struct.pack(">H", len(fields))
        body += b"".join(struct.pack(">QB", self.string(field), OBJECT) for field in fields)
        self.heap += body

    def trace(self, serial, class_id, method, line):
        texts = self.string(method), self.string("()V"), self.string("Shop.java")
        self.record(FRAME, struct.pack(">QQQQIi", serial, *texts, self.classes[class_id], line))
        self.record(TRACE, struct.pack(">IIIQ", serial, 0, 1, serial))

    def instance(self, ident, class_id, *values, trace=0):
        fields = struct.pack(f">{len(values)}Q", *values)
        self.heap += struct.pack(">BQIQI", 0x21, ident, trace, class_id, len(fields)) + fields

    def array(self, ident, class_id, *values):
        self.heap += struct.pack(f">BQIIQ{len(values)}Q", 0x22, ident, 0, len(values), class_id, *values)

    def bytes(self, ident, length):
        self.heap += struct.pack(">BQIIB", 0x23, ident, 0, length, BYTE) + bytes(length)


def shop():
    """Return a dump: a shop with three orders, one without a customer, a rush order, and an order that is gone.

    Two customers have 1,000 and 100 bytes of data. Two loaders have each loaded shop.Plugin.
    """
    dump = _Dump()
    dump.load(0x100, "java.lang.Object")
    dump.load(0x200, "shop.Customer", 0x100, ["data"])
    dump.load(0x300, "shop.Order", 0x100, ["customer"])
    dump.load(0x400, "shop.RushOrder", 0x300, inherited=1)
    dump.load(0x500, "[Lshop.Order;", 0x100)
    dump.load(0x600, "shop.PluginLoader", 0x100)
    dump.load(0x700, "shop.Plugin", 0x100, loader=0x6000)
    dump.load(0x800, "shop.Plugin", 0x100, loader=0x6100)
    dump.load(0x900, "shop.Shop", 0x100, statics=[("orders", 0x1000)])
    dump.trace(1, 0x900, "sell", 10)
    dump.trace(2, 0x900, "rush", 20)
    dump.array(0x1000, 0x500, 0x2000, 0x2100, 0x2200, 0x2300)
    dump.instance(0x2000, 0x300, 0x3000, trace=1)
    dump.instance(0x2100, 0x300, 0x3000, trace=1)
    dump.instance(0x2200, 0x300, 0, trace=1)
    dump.instance(0x2300, 0x400, 0x3100, trace=2)
    dump.instance(0x2400, 0x300, 0, trace=1)
    dump.instance(0x3000, 0x200, 0x4000)
    dump.instance(0x3100, 0x200, 0x4100)
    dump.bytes(0x4000, 1000)
    dump.bytes(0x4100, 100)
    dump.instance(0x6000, 0x600)
    dump.instance(0x6100, 0x600)
    for held in (0x700, 0x800, 0x900):
        dump.heap += struct.pack(">BQ", 0x05, held)
    for loader in (0x6000, 0x6100):
        dump.heap += struct.pack(">BQQ", 0x01, loader, 1)
    dump.record(SEGMENT, bytes(dump.heap))
    dump.record(END, b"")
    return bytes(dump.out)
