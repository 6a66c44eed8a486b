"""A small heap dump with known objects, written byte by byte."""

import struct

STRING, LOAD_CLASS, FRAME, TRACE, SEGMENT, END = 0x01, 0x02, 0x04, 0x05, 0x1C, 0x2C
# The types of values: as HPROF numbers them, and as `struct` packs them.
REFERENCE, BOOLEAN, DOUBLE, BYTE, INT, LONG = (2, "Q"), (4, "?"), (7, "d"), (8, "b"), (10, "i"), (11, "q")


class _Dump:
    def __init__(self):
        self.out = bytearray(b"JAVA PROFILE 1.0.2\0" + struct.pack(">IQ", 8, 0))
        self.strings, self.classes, self.heap = {}, {}, bytearray()
        self.fields = {0: ""}
        self.record(TRACE, struct.pack(">III", 0, 0, 0))

    def record(self, tag, body):
        self.out += struct.pack(">BII", tag, 0, len(body)) + body

    def string(self, text):
        if text not in self.strings:
            self.strings[text] = 1000 + len(self.strings)
            self.record(STRING, struct.pack(">Q", self.strings[text]) + text.encode())
        return self.strings[text]

    def load(self, ident, name, above=0x100, /, statics=(), loader=0, **fields):
        serial = 1 + len(self.classes)
        self.classes[ident] = serial
        self.record(LOAD_CLASS, struct.pack(">IQIQ", serial, ident, 0, self.string(name.replace(".", "/"))))
        # An instance has the fields of its class, then those of the superclass.
        self.fields[ident] = "".join(code for _, code in fields.values()) + self.fields[above]
        size = struct.calcsize(">" + self.fields[ident])
        body = struct.pack(">BQIQQQQQQIHH", 0x20, ident, 0, above, loader, 0, 0, 0, 0, size, 0, len(statics))
        for field, (kind, code), value in statics:
            body += struct.pack(f">QB{code}", self.string(field), kind, value)
        body += struct.pack(">H", len(fields))
        body += b"".join(struct.pack(">QB", self.string(field), kind) for field, (kind, _) in fields.items())
        self.heap += body

    def trace(self, serial, class_id, method, line):
        texts = self.string(method), self.string("()V"), self.string("Shop.java")
        self.record(FRAME, struct.pack(">QQQQIi", serial, *texts, self.classes[class_id], line))
        self.record(TRACE, struct.pack(">IIIQ", serial, 0, 1, serial))

    def instance(self, ident, class_id, *values, trace=0):
        fields = struct.pack(">" + self.fields[class_id], *values)
        self.heap += struct.pack(">BQIQI", 0x21, ident, trace, class_id, len(fields)) + fields

    def array(self, ident, class_id, *values):
        self.heap += struct.pack(f">BQIIQ{len(values)}Q", 0x22, ident, 0, len(values), class_id, *values)

    def bytes(self, ident, content):
        self.heap += struct.pack(">BQIIB", 0x23, ident, 0, len(content), BYTE[0]) + content

    def text(self, ident, text):
        is_wide = not text.isascii()
        self.instance(ident, 0xA00, ident + 0x20, 0, int(is_wide))
        self.bytes(ident + 0x20, text.encode("utf-16-le" if is_wide else "ascii"))


def shop():
    """Return a dump: a shop with three orders, one without a customer, a rush order, and an order that is gone.

    Two customers, both named Ann, have 1,000 and 100 bytes of data. Two loaders have each loaded shop.Plugin. A map has
    two sessions by their ids; a thread has one of them in a ThreadLocal, and a value of a ThreadLocal that is gone.
    """
    dump = _Dump()
    dump.load(0x100, "java.lang.Object", 0)
    dump.load(0x200, "shop.Customer", name=REFERENCE, data=REFERENCE)
    dump.load(0x300, "shop.Order", customer=REFERENCE, number=INT, total=DOUBLE)
    dump.load(0x400, "shop.RushOrder", 0x300)
    dump.load(0x500, "[Lshop.Order;")
    dump.load(0x600, "shop.PluginLoader")
    dump.load(0x700, "shop.Plugin", loader=0x6000)
    dump.load(0x800, "shop.Plugin", loader=0x6100)
    statics = [("orders", REFERENCE, 0x1000), ("sessions", REFERENCE, 0x7000), ("limit", INT, 50)]
    dump.load(0x900, "shop.Shop", statics=statics)
    dump.load(0xA00, "java.lang.String", value=REFERENCE, hash=INT, coder=BYTE)
    dump.load(0xA10, "shop.Session", id=REFERENCE, lastAccessedTime=LONG, isNew=BOOLEAN)
    dump.load(0xA20, "java.util.HashMap", table=REFERENCE, size=INT)
    dump.load(0xA30, "[Ljava.util.HashMap$Node;")
    dump.load(0xA40, "java.util.HashMap$Node", hash=INT, key=REFERENCE, value=REFERENCE, next=REFERENCE)
    dump.load(0xA50, "java.lang.Thread", name=REFERENCE, threadLocals=REFERENCE)
    dump.load(0xA60, "java.lang.ThreadLocal$ThreadLocalMap", table=REFERENCE)
    dump.load(0xA70, "[Ljava.lang.ThreadLocal$ThreadLocalMap$Entry;")
    dump.load(0xA80, "java.lang.ref.Reference", referent=REFERENCE)
    dump.load(0xA90, "java.lang.ThreadLocal$ThreadLocalMap$Entry", 0xA80, value=REFERENCE)
    dump.load(0xAA0, "shop.CurrentSession")
    dump.trace(1, 0x900, "sell", 10)
    dump.trace(2, 0x900, "rush", 20)
    dump.array(0x1000, 0x500, 0x2000, 0x2100, 0x2200, 0x2300)
    dump.instance(0x2000, 0x300, 0x3000, 1, 9.5, trace=1)
    dump.instance(0x2100, 0x300, 0x3000, 2, 120.25, trace=1)
    dump.instance(0x2200, 0x300, 0, 3, 0.0, trace=1)
    dump.instance(0x2300, 0x400, 0x3100, 4, 60.0, trace=2)
    dump.instance(0x2400, 0x300, 0, 5, 0.0, trace=1)
    dump.instance(0x3000, 0x200, 0x5000, 0x4000)
    dump.instance(0x3100, 0x200, 0x5100, 0x4100)
    dump.bytes(0x4000, bytes(1000))
    dump.bytes(0x4100, bytes(100))
    for ident, text in [(0x5000, "Ann"), (0x5100, "Ann"), (0x5200, "s-1"), (0x5300, "s-2 \u03a9"), (0x5400, "web-1")]:
        dump.text(ident, text)
    dump.instance(0x6000, 0x600)
    dump.instance(0x6100, 0x600)
    dump.instance(0x7000, 0xA20, 0x7100, 2)
    dump.array(0x7100, 0xA30, 0x7200, 0x7300, 0, 0, 0, 0, 0, 0)
    dump.instance(0x7200, 0xA40, 7, 0x5200, 0x7400, 0)
    dump.instance(0x7300, 0xA40, 9, 0x5300, 0x7500, 0)
    dump.instance(0x7400, 0xA10, 0x5200, 1_700_000_000_000, False)
    dump.instance(0x7500, 0xA10, 0x5300, 1_700_000_900_000, True)
    dump.instance(0x8000, 0xA50, 0x5400, 0x8100)
    dump.instance(0x8100, 0xA60, 0x8200)
    dump.array(0x8200, 0xA70, 0x8300, 0x8400)
    dump.instance(0x8300, 0xA90, 0x7400, 0x8500)
    dump.instance(0x8400, 0xA90, 0x3100, 0)
    dump.instance(0x8500, 0xAA0)
    for held in (0x700, 0x800, 0x900):
        dump.heap += struct.pack(">BQ", 0x05, held)
    for held in (0x6000, 0x6100, 0x8500):
        dump.heap += struct.pack(">BQQ", 0x01, held, 1)
    dump.heap += struct.pack(">BQII", 0x08, 0x8000, 1, 0)
    dump.record(SEGMENT, bytes(dump.heap))
    dump.record(END, b"")
    return bytes(dump.out)
