// swift-tools-version: 6.2
import PackageDescription

// Rooms and arrows (nothing else is allowed, and the build refuses it):
//
//   Executables ─▶ Services ─▶ IO ─▶ C
//                     │        │
//                     └────────┴──▶ Core        Core uses nothing but Core.

/// Every target: Swift 6 mode, warnings are errors.
let swift: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// Core targets: also no unsafe pointer, checked by the compiler.
let pure: [SwiftSetting] = swift + [.strictMemorySafety()]

func system(_ name: String, _ pkgConfig: String, _ debian: String) -> Target {
  .systemLibrary(
    name: name, path: "Sources/C/\(name)", pkgConfig: pkgConfig, providers: [.apt([debian])])
}

func core(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(
    name: name, dependencies: dependencies, path: "Sources/Core/\(name)", swiftSettings: pure)
}

func io(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .target(name: name, dependencies: dependencies, path: "Sources/IO/\(name)", swiftSettings: swift)
}

func service(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .target(
    name: name, dependencies: dependencies + ["ServiceKit", "Settings", "Telemetry", "Bytes"],
    path: "Sources/Services/\(name)", swiftSettings: swift)
}

func executable(_ name: String, _ service: String) -> Target {
  .executableTarget(
    name: name, dependencies: [.init(stringLiteral: service), "ServiceKit"],
    path: "Sources/Executables/\(name)",
    swiftSettings: swift)
}

func tests(
  _ room: String, _ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []
) -> Target {
  .testTarget(
    name: "\(name)Tests", dependencies: dependencies, path: "Tests/\(room)/\(name)Tests",
    exclude: exclude, swiftSettings: swift)
}

/// What the fuzz targets parse with.
let fuzzed: [Target.Dependency] = [
  "APNS", "Pipeline", "Delivery", "Faults", "Gateway", "Settings", "Telemetry", "Bytes", "JSON",
  "Records", "EventLoop", "HTTP2", "HTTPServer", "TLS", "Kafka", "Signing", "ServiceKit", "Ingest",
  "Sender", "Signer", "Feedback", "GatewaySimulator", "OperatorCommand",
]

/// The fuzz targets: tests over the kept inputs, or (`scripts/fuzz` asks for it) a program around libFuzzer,
/// which no ordinary build can link.
let fuzz: Target =
  Context.environment["MARTLET_TEST_FUZZ"] == nil
  ? .testTarget(
    name: "FuzzTests", dependencies: fuzzed, path: "Tests/Fuzz",
    exclude: ["Corpus", "Dictionaries", "Driver"], sources: ["Targets", "Regression"],
    swiftSettings: swift)
  : .executableTarget(
    name: "martlet-fuzz", dependencies: fuzzed, path: "Tests/Fuzz",
    exclude: ["Corpus", "Dictionaries", "Regression"], sources: ["Targets", "Driver"],
    swiftSettings: swift)

let package = Package(
  name: "martlet",
  targets: [
    // C: the only place where a C header is named.
    system("CRdKafka", "rdkafka", "librdkafka-dev"),
    system("CNghttp2", "libnghttp2", "libnghttp2-dev"),
    system("COpenSSL", "openssl", "libssl-dev"),
    system("CSQLite", "sqlite3", "libsqlite3-dev"),
    system("CMicrohttpd", "libmicrohttpd", "libmicrohttpd-dev"),
    system("CCurl", "libcurl", "libcurl4-openssl-dev"),
    .target(
      name: "CLinux", path: "Sources/C/CLinux", cSettings: [.define("_GNU_SOURCE")]),
    .target(name: "CBrokerPort", path: "Sources/C/CBrokerPort"),
    .target(
      name: "CSimdjson", path: "Sources/C/CSimdjson",
      cxxSettings: [.unsafeFlags(["-O2"])], linkerSettings: [.linkedLibrary("simdjson")]),

    // Core: decisions as values.
    core("Random"),
    core("APNS"),
    core("Pipeline", ["APNS"]),
    core("Delivery", ["APNS", "Pipeline"]),
    core("Dispatch", ["APNS", "Pipeline", "Delivery", "Random"]),
    core("Faults", ["APNS", "Random"]),
    core("Settings"),
    core("Telemetry"),
    core("Gateway", ["APNS", "Settings"]),

    // IO: shells, each type owns one handle on one thread.
    io("Bytes", ["CLinux"]),
    io("EventLoop", ["Bytes", "Random", "CLinux"]),
    io("TLS", ["Bytes", "COpenSSL"]),
    io("HTTP2", ["Bytes", "EventLoop", "TLS", "CNghttp2"]),
    io("Kafka", ["Bytes", "EventLoop", "Telemetry", "CRdKafka", "CBrokerPort"]),
    io("JSON", ["Bytes", "CSimdjson"]),
    io("Records", ["Bytes", "JSON", "APNS", "Pipeline", "CSimdjson"]),
    io("HTTPServer", ["CMicrohttpd"]),
    io("HTTPClient", ["CCurl"]),
    io("Store", ["APNS", "Delivery", "CSQLite"]),
    io("Signing", ["Bytes", "COpenSSL"]),

    // Services: one room a process.
    .target(
      name: "ServiceKit",
      dependencies: [
        "Settings", "Telemetry", "Bytes", "EventLoop", "Kafka", "Delivery", "Records", "Signing",
        "Pipeline", "JSON", "HTTPServer",
      ],
      path: "Sources/Services/ServiceKit", swiftSettings: swift),
    service(
      "Ingest",
      ["APNS", "Pipeline", "Delivery", "EventLoop", "Kafka", "Records", "Signing"]),
    service(
      "Signer",
      ["APNS", "Pipeline", "Delivery", "EventLoop", "Kafka", "JSON", "Records", "Signing"]),
    service(
      "Sender",
      [
        "APNS", "Pipeline", "Delivery", "Dispatch", "EventLoop", "Kafka", "JSON", "Records", "TLS",
        "HTTP2",
      ]),
    service(
      "Feedback",
      ["APNS", "Pipeline", "Delivery", "EventLoop", "Kafka", "JSON", "Records", "Store"]),
    service(
      "GatewaySimulator",
      [
        "APNS", "Gateway", "Faults", "Random", "EventLoop", "JSON", "TLS", "HTTP2",
        "HTTPServer",
        "Signing",
      ]),
    service(
      "OperatorCommand",
      [
        "APNS", "Pipeline", "Delivery", "Random", "EventLoop", "Kafka", "JSON", "Records",
        "Signing", "Store",
        "HTTPClient", "HTTPServer",
      ]),

    // Executables: parse, build, run.
    executable("martlet-ingest", "Ingest"),
    executable("martlet-signer", "Signer"),
    executable("martlet-sender", "Sender"),
    executable("martlet-feedback", "Feedback"),
    executable("apns-simulator", "GatewaySimulator"),
    executable("martlet", "OperatorCommand"),

    // Benchmarks.
    .executableTarget(
      name: "http2-benchmark", dependencies: ["EventLoop", "TLS", "HTTP2", "CLinux"],
      path: "benchmarks/http2", swiftSettings: swift),
    .executableTarget(
      name: "benchmark-load",
      dependencies: [
        "Bytes", "EventLoop", "Kafka", "Pipeline", "Random", "Records", "ServiceKit", "Settings",
      ],
      path: "benchmarks/load", swiftSettings: swift),

    .target(
      name: "ChaosSuite",
      dependencies: [
        "APNS", "Pipeline", "Delivery", "Random", "Bytes", "EventLoop", "Kafka", "JSON", "Records",
        "Store",
        "Settings", "ServiceKit", "OperatorCommand", "HTTPClient",
      ],
      path: "benchmarks/chaos-suite", swiftSettings: swift),
    .executableTarget(
      name: "martlet-chaos", dependencies: ["ChaosSuite", "ServiceKit"],
      path: "benchmarks/chaos-program", swiftSettings: swift),

    // Tests.
    .target(
      name: "TestSupport", dependencies: ["EventLoop", "Kafka"],
      path: "Tests/Support/TestSupport", swiftSettings: swift),
    .target(
      name: "SystemTestSupport", dependencies: ["Bytes", "EventLoop", "TestSupport"],
      path: "Tests/Support/SystemTestSupport", swiftSettings: swift),
    .target(
      name: "Simulation", dependencies: ["APNS", "Pipeline", "Delivery", "Dispatch", "Random"],
      path: "Tests/Support/Simulation", swiftSettings: pure),
    .executableTarget(
      name: "martlet-simulate", dependencies: ["Simulation"], path: "benchmarks/simulate",
      swiftSettings: swift),
    tests("Core", "APNS", ["APNS", "Random"]),
    tests("Core", "Pipeline", ["APNS", "Pipeline", "Random"]),
    tests("Core", "Delivery", ["APNS", "Pipeline", "Delivery", "Random", "TestSupport"]),
    tests("Core", "Dispatch", ["APNS", "Pipeline", "Delivery", "Dispatch"]),
    tests("Core", "Faults", ["APNS", "Faults", "Random"]),
    tests("Core", "Simulation", ["Pipeline", "Delivery", "Random", "Simulation", "TestSupport"]),
    tests("Core", "Settings", ["Settings"]),
    tests("Core", "Telemetry", ["Telemetry"]),
    tests("Core", "Gateway", ["APNS", "Gateway", "Random"]),
    tests("IO", "EventLoop", ["Bytes", "EventLoop"]),
    tests("IO", "TLS", ["Bytes", "TLS", "Signing"]),
    tests(
      "IO", "HTTP2", ["Bytes", "EventLoop", "TLS", "HTTP2", "Signing"]),
    tests("IO", "Kafka", ["EventLoop", "Kafka", "TestSupport"]),
    tests("IO", "JSON", ["Bytes", "JSON", "Random"]),
    tests(
      "IO", "Records", ["Bytes", "JSON", "Records", "APNS", "Pipeline", "Random", "TestSupport"]),
    tests("IO", "HTTPServer", ["HTTPServer", "HTTPClient"]),
    tests("IO", "Store", ["APNS", "Delivery", "Bytes", "Store", "TestSupport"]),
    tests("IO", "Signing", ["Bytes", "Signing", "TestSupport"]),
    tests(
      "Services", "ServiceKit",
      [
        "ServiceKit", "Settings", "Telemetry", "Pipeline", "Delivery", "EventLoop", "Kafka",
        "JSON", "HTTPClient", "Bytes", "Random", "TestSupport",
      ]),
    tests(
      "Services", "Ingest",
      [
        "Ingest", "ServiceKit", "Telemetry", "Random", "APNS", "Pipeline", "Kafka", "JSON",
        "Records", "EventLoop",
        "Settings", "TestSupport",
      ]),
    tests(
      "Services", "Signer",
      [
        "Signer", "ServiceKit", "Telemetry", "APNS", "Pipeline", "Delivery", "Kafka", "JSON",
        "Records",
        "Signing", "Bytes",
        "EventLoop", "Settings", "TestSupport",
      ]),
    tests(
      "Services", "Sender",
      [
        "Sender", "APNS", "Faults", "Pipeline", "Delivery", "Dispatch", "Kafka", "JSON", "Records",
        "TLS",
        "HTTP2", "Bytes", "EventLoop", "Settings", "TestSupport", "GatewaySimulator", "ServiceKit",
        "Signing", "Telemetry", "OperatorCommand", "HTTPClient",
        "Signer",
      ]),
    tests(
      "Services", "Feedback",
      [
        "Feedback", "ServiceKit", "Telemetry", "Random", "APNS", "Pipeline", "Delivery", "Kafka",
        "JSON",
        "Records",
        "Store", "EventLoop", "Settings", "TestSupport",
      ]),
    tests(
      "Services", "GatewaySimulator",
      [
        "GatewaySimulator", "APNS", "Gateway", "Random", "JSON", "TLS", "HTTP2", "HTTPClient",
        "Signing",
        "Bytes",
        "EventLoop", "Settings", "TestSupport",
      ]),
    tests(
      "Services", "OperatorCommand",
      [
        "OperatorCommand", "APNS", "Signing", "Pipeline", "Kafka", "EventLoop", "GatewaySimulator",
        "HTTPClient", "HTTPServer", "ServiceKit", "TLS", "JSON", "Records", "Bytes",
        "Settings", "TestSupport", "Telemetry",
      ]),
    tests(
      "System", "System",
      [
        "Bytes", "EventLoop", "HTTPClient", "JSON", "Kafka", "Pipeline", "SystemTestSupport",
        "TestSupport",
      ]),
    tests(
      "System", "ForeignClient",
      ["Bytes", "EventLoop", "JSON", "Signing", "SystemTestSupport", "TestSupport"],
      exclude: ["Python"]),
    tests(
      "System", "Chaos",
      [
        "ChaosSuite", "OperatorCommand", "APNS", "Bytes", "Delivery", "JSON", "Kafka", "Records",
        "SystemTestSupport", "TestSupport",
      ]),
    tests(
      "System", "Deploy",
      [
        "Ingest", "Signer", "Sender", "Feedback", "GatewaySimulator", "OperatorCommand",
        "ServiceKit", "Settings", "Telemetry", "Pipeline", "JSON", "Bytes", "TestSupport",
        "SystemTestSupport",
      ], exclude: ["Python"]),
    tests("Tidy", "Tidy", []),
    tests("Tidy", "Conformance", ["APNS", "Faults"]),
    fuzz,
  ],
  cxxLanguageStandard: .cxx17
)

/// `MARTLET_TEST_ONLY=TLS,Kafka` leaves these test targets and what they need, for builds that take long and are
/// about a part (`scripts/sanitize`).
if let only = Context.environment["MARTLET_TEST_ONLY"] {
  var kept = Set(only.split(separator: ",").map { "\($0)Tests" })
  var added = kept
  while !added.isEmpty {
    let needed = package.targets.filter { added.contains($0.name) }.flatMap(\.dependencies)
      .compactMap { dependency in
        if case .byNameItem(let name, _) = dependency { name } else { nil }
      }
    added = Set(needed).subtracting(kept)
    kept.formUnion(added)
  }
  package.targets.removeAll { !kept.contains($0.name) }
}
