// swift-tools-version: 6.2
import PackageDescription

// Rooms and arrows (nothing else is allowed, and the build refuses it):
//
//   the product     Executables ─▶ Services ─▶ IO ─▶ C
//                                     │        │
//                                     └────────┴──▶ Core        Core uses nothing but Core.
//
//   the simulator   Simulator ─▶ ServiceKit, IO, Core; nghttp2  a stand-in for APNs; nothing of the product uses it
//   the laboratory  Lab ─▶ Services, IO, Core; librdkafka       embedded broker, martlet up and demo
//   the trials      Tests, benchmarks ─▶ all of them            simulation, chaos suite, load

/// Every target: Swift 6 mode, warnings are errors.
let common: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  // A module at once, as in a release: a quarter faster from nothing, and no slower after a change.
  .unsafeFlags(
    ["-whole-module-optimization", "-num-threads", "2", "-disable-batch-mode"],
    .when(configuration: .debug)),
]

/// Core targets: also no unsafe pointer, checked by the compiler.
let pure: [SwiftSetting] = common + [.strictMemorySafety()]

/// All others. Each loop is a class that one thread owns, and asks a dozen of its properties for each notification. That
/// no two accesses overlap is checked by the debug build, in which every test runs; a release does not check it again.
let swift: [SwiftSetting] =
  common + [.unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release))]

/// `scripts/fuzz` asks for its program.
let isFuzzing = Context.environment["MARTLET_TEST_FUZZ"] != nil

/// Services, simulator and laboratory: in the fuzz program, where the parsers below them take the time, not optimized.
let outer: [SwiftSetting] =
  swift + (isFuzzing ? [.unsafeFlags(["-Onone"], .when(configuration: .release))] : [])

/// C and C++ of ours: the stack and the bounds of C++'s containers are checked everywhere, buffers whose size is known
/// in releases (glibc wants optimization for that, and sanitizers do it themselves).
let stackChecks = ["-fstack-protector-strong"]
let bufferChecks = ["-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=3"]
let hardenedC: [CSetting] = [
  .unsafeFlags(stackChecks), .unsafeFlags(bufferChecks, .when(configuration: .release)),
]
let hardenedCXX: [CXXSetting] = [
  .unsafeFlags(stackChecks + ["-D_GLIBCXX_ASSERTIONS"]),
  .unsafeFlags(bufferChecks, .when(configuration: .release)),
]

/// All symbols are bound at the start, and what they are bound by cannot be written after that. Position-independent
/// programs and a stack without code are the toolchain's default. `HardeningTests` reads all of it off the programs.
/// The linker is the toolchain's own: without a name it is Debian's, and the one of Debian 13 leaves `relro` out without
/// a word, because Swift's constants are in writable sections.
let hardenedLink: [LinkerSetting] = [
  .unsafeFlags([
    "-use-ld=lld", "-Xlinker", "-z", "-Xlinker", "relro", "-Xlinker", "-z", "-Xlinker", "now",
  ])
]

/// The commit that `scripts/build` makes a release of; it recompiles one C file.
let commit = Context.environment["MARTLET_COMMIT"].map { [$0] } ?? []

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
    path: "Sources/Services/\(name)", swiftSettings: outer)
}

/// A part of the simulator; `settings` is `pure` for its model and its faults, which are values like Core.
func simulator(
  _ name: String, _ dependencies: [Target.Dependency], settings: [SwiftSetting] = outer
) -> Target {
  .target(
    name: name, dependencies: dependencies, path: "Sources/Simulator/\(name)",
    swiftSettings: settings)
}

func lab(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .target(name: name, dependencies: dependencies, path: "Sources/Lab/\(name)", swiftSettings: outer)
}

/// A program that tests or measures the others, in a folder of `room`.
func trial(_ name: String, _ room: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(
    name: name, dependencies: dependencies, path: "\(room)/\(name)", swiftSettings: outer,
    linkerSettings: hardenedLink)
}

func executable(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(
    name: name, dependencies: dependencies, path: "Sources/Executables/\(name)",
    swiftSettings: outer, linkerSettings: hardenedLink)
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
  "APNS", "Identity", "Contract", "ConsumerGroup", "DeviceTokens", "Gateways", "Random", "Faults",
  "GatewayModel", "Schedule", "Settings",
  "Telemetry", "Bytes", "JSON", "Compatibility",
  "Records", "EventLoop", "HTTP1", "HTTP2", "HTTPServer", "TLS", "Kafka", "Signing", "ServiceKit",
  "Ingest",
  "Sender", "Signer", "Feedback", "WebhookDelivery", "Webhooks", "GatewaySimulator",
  "HTTP2Server", "CommandKit", "OperatorCommand", "LabCommand", "EmbeddedKafka", "BrokerCore",
  "TokenFiles",
  "PEMFiles", "Scheduler", "Store",
]

/// The fuzz targets: tests over the kept inputs, or (`scripts/fuzz` asks for it) a program around libFuzzer,
/// which no ordinary build can link.
let fuzz: Target =
  !isFuzzing
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
    system("CPostgres", "libpq", "libpq-dev"),
    system("CZlib", "zlib", "zlib1g-dev"),
    system("CCurl", "libcurl", "libcurl4-openssl-dev"),
    .target(
      name: "CLinux", path: "Sources/C/CLinux",
      cSettings: [.define("_GNU_SOURCE")] + hardenedC),
    .target(
      name: "CBuild", path: "Sources/C/CBuild",
      cSettings: hardenedC + commit.map { .define("MARTLET_COMMIT", to: $0) }),

    // Core: decisions as values.
    core("Identity"),
    core("Random"),
    core("APNS", ["Identity"]),
    core("Contract", ["APNS", "Identity"]),
    core("ConsumerGroup", ["APNS"]),
    core("DeviceTokens", ["APNS", "Contract", "Identity"]),
    core(
      "Gateways",
      ["Random", "ConsumerGroup", "DeviceTokens", "Contract", "Diagnosis", "APNS", "Identity"]),
    core("Diagnosis", ["APNS", "Contract"]),
    core("Settings"),
    core("Telemetry"),
    core("Access", ["Identity"]),
    core("TokenFiles", ["APNS", "Contract"]),
    core("PEMFiles"),
    core("Webhooks", ["HTTP2Engine", "Identity", "Telemetry", "ConsumerGroup", "Gateways"]),
    core("HTTP1", ["Identity"]),
    core("Schedule", ["Contract", "Identity"]),
    core("HTTP2Engine"),

    // IO: shells, each type owns one handle on one thread.
    io("Bytes", ["CLinux"]),
    io("EventLoop", ["Bytes", "Random", "CLinux"]),
    io("TLS", ["PEMFiles", "Bytes", "COpenSSL"]),
    io("HTTP2", ["Bytes", "EventLoop", "TLS", "HTTP1", "HTTP2Engine", "CNghttp2"]),
    io("Kafka", ["Contract", "EventLoop", "Telemetry", "CRdKafka", "CLinux"]),
    // C++, because simdjson is: reads requests and payloads in one pass (Sources/IO/CSimdjson/include/CSimdjson.h).
    .target(
      name: "CSimdjson", path: "Sources/IO/CSimdjson",
      cxxSettings: [.unsafeFlags(["-O2"])] + hardenedCXX,
      linkerSettings: [.linkedLibrary("simdjson")]),
    io("JSON", ["Bytes", "CSimdjson", "Identity"]),
    io(
      "Records",
      ["Bytes", "JSON", "APNS", "Contract", "Identity", "Schedule", "Telemetry", "CSimdjson"]),
    io("Compatibility", ["JSON", "APNS", "Identity", "Records"]),
    io("HTTPServer", ["Bytes", "EventLoop", "TLS", "HTTP1", "Identity", "CZlib"]),
    io("HTTPClient", ["CCurl", "HTTP1"]),
    io(
      "Store",
      [
        "APNS", "Contract", "CSQLite", "CPostgres", "DeviceTokens", "Gateways", "Identity",
        "Schedule",
      ]),
    io("Signing", ["PEMFiles", "Bytes", "COpenSSL"]),

    // Services: one room per process.
    .target(
      name: "ServiceKit",
      dependencies: [
        "Settings", "Telemetry", "Bytes", "EventLoop", "Kafka", "Records", "Signing",
        "APNS", "Contract", "ConsumerGroup", "JSON", "HTTPServer", "Diagnosis",
        "CBuild",
      ],
      path: "Sources/Services/ServiceKit", swiftSettings: outer),
    service(
      "Ingest",
      [
        "APNS", "Contract", "Diagnosis", "EventLoop", "Kafka", "Records", "Compatibility",
        "ConsumerGroup", "DeviceTokens", "Identity",
      ]),
    service(
      "API",
      [
        "Access", "APNS", "Contract", "Diagnosis", "EventLoop", "HTTP1", "Kafka", "JSON", "Records",
        "Signing", "Store", "HTTPServer", "TLS", "Compatibility", "DeviceTokens", "Gateways",
        "Identity", "Schedule",
      ]),
    service(
      "Signer",
      [
        "APNS", "Diagnosis", "Contract", "EventLoop", "Kafka", "JSON", "Records", "Signing",
        "Gateways",
      ]),
    service(
      "Sender",
      [
        "APNS", "Contract", "Diagnosis", "EventLoop", "Kafka", "JSON", "Records", "TLS", "HTTP1",
        "HTTP2", "HTTP2Engine", "ConsumerGroup", "DeviceTokens", "Gateways", "Schedule",
      ]),
    service(
      "Feedback",
      [
        "APNS", "Contract", "Diagnosis", "EventLoop", "Kafka", "JSON", "Records", "Store",
        "Compatibility", "DeviceTokens", "Gateways", "ConsumerGroup",
      ]),
    service(
      "WebhookDelivery",
      [
        "Webhooks", "APNS", "Contract", "Diagnosis", "EventLoop", "Identity", "Kafka", "JSON",
        "Records", "Signing", "HTTPClient", "TLS", "ConsumerGroup",
      ]),
    service(
      "Scheduler",
      [
        "Schedule", "APNS", "Contract", "DeviceTokens", "Diagnosis", "EventLoop", "Kafka",
        "Records",
        "Store", "ConsumerGroup", "Gateways", "Identity", "JSON",
      ]),
    service("CommandKit", ["Contract", "Diagnosis", "EventLoop", "JSON", "Kafka", "Signing"]),
    service(
      "OperatorCommand",
      [
        "CommandKit", "APNS", "Contract", "Diagnosis", "EventLoop", "Kafka", "JSON",
        "Records",
        "HTTPClient", "HTTPServer", "Identity", "Schedule", "Store", "TLS", "TokenFiles",
        "DeviceTokens", "Gateways",
      ]),

    // Executables: parse, build, run.
    executable("martlet-ingest", ["Ingest", "ServiceKit"]),
    executable("martlet-api", ["API", "ServiceKit"]),
    executable("martlet-signer", ["Signer", "ServiceKit"]),
    executable("martlet-sender", ["Sender", "ServiceKit"]),
    executable("martlet-feedback", ["Feedback", "ServiceKit", "EventLoop"]),
    executable("martlet-webhooks", ["WebhookDelivery", "ServiceKit"]),
    executable("martlet-scheduler", ["Scheduler", "ServiceKit"]),
    executable("martlet", ["OperatorCommand"]),
    executable("martlet-lab", ["LabCommand"]),
    executable("apns-simulator", ["GatewaySimulator", "ServiceKit"]),

    // Simulator: APNs as a server.
    simulator("GatewayModel", ["APNS", "Settings"], settings: pure),
    simulator("Faults", ["APNS", "Random"], settings: pure),
    simulator(
      "HTTP2Server", ["Bytes", "EventLoop", "TLS", "HTTP2", "HTTP2Engine", "CNghttp2"]),
    simulator(
      "GatewaySimulator",
      [
        "APNS", "GatewayModel", "Faults", "Random", "EventLoop", "JSON", "TLS", "HTTP2",
        "HTTP2Server",
        "HTTPServer", "Signing", "ServiceKit", "Settings", "Telemetry", "Bytes",
      ]),

    // Laboratory: everything on one machine.
    lab(
      "EmbeddedKafka",
      ["Broker", "BrokerCore", "Bytes", "Diagnosis", "EventLoop", "Kafka"]),
    .target(name: "BrokerCore", path: "Sources/Lab/Broker/BrokerCore", swiftSettings: pure),
    .target(
      name: "Broker", dependencies: ["BrokerCore", "Bytes", "EventLoop", "CLinux"],
      path: "Sources/Lab/Broker/Broker", swiftSettings: outer),
    lab(
      "LabCommand",
      [
        "CommandKit", "EmbeddedKafka", "APNS", "Contract", "Random", "EventLoop", "Kafka", "JSON",
        "Records", "Signing", "Store", "HTTPClient", "HTTPServer", "ServiceKit",
        "Settings", "Telemetry", "Bytes",
      ]),

    // Tests: the suites that are programs, and the programs that measure.
    .target(
      name: "Simulation",
      dependencies: [
        "APNS", "Contract", "ConsumerGroup", "DeviceTokens", "Gateways", "Identity", "Random",
        "Schedule",
      ],
      path: "Tests/Simulation/Simulation", swiftSettings: pure),
    trial("martlet-simulate", "Tests/Simulation", ["Simulation"]),
    .target(
      name: "ChaosSuite",
      dependencies: [
        "APNS", "Contract", "Random", "Bytes", "EventLoop", "Kafka", "JSON", "Records", "Store",
        "Settings", "Telemetry", "ServiceKit", "LabCommand", "HTTPClient", "ConsumerGroup",
        "Identity", "Schedule",
      ],
      path: "Tests/Chaos/ChaosSuite", swiftSettings: outer),
    trial("martlet-chaos", "Tests/Chaos", ["ChaosSuite", "ServiceKit"]),
    trial(
      "http2-benchmark", "benchmarks/tools",
      ["EventLoop", "TLS", "HTTP2", "HTTP2Engine", "CLinux"]),
    trial("store-benchmark", "benchmarks/tools", ["APNS", "EventLoop", "Random", "Store"]),
    trial(
      "benchmark-load", "benchmarks/tools",
      [
        "APNS", "Bytes", "EventLoop", "Kafka", "Contract", "Random", "Records", "ServiceKit",
        "Settings",
      ]),
    trial(
      "benchmark-topics", "benchmarks/tools",
      ["CommandKit", "EmbeddedKafka", "Kafka", "Contract", "ServiceKit", "Settings"]),
    .target(
      name: "TestSupport", dependencies: ["CRdKafka", "EventLoop", "Kafka", "EmbeddedKafka"],
      path: "Tests/Support/TestSupport", swiftSettings: swift),
    .target(
      name: "SystemTestSupport", dependencies: ["Bytes", "EventLoop", "TestSupport"],
      path: "Tests/Support/SystemTestSupport", swiftSettings: swift),
    tests("Core", "Identity", ["Identity"]),
    tests("Core", "APNS", ["APNS", "Random"]),
    tests("Core", "Contract", ["Identity", "APNS", "Contract", "Random"]),
    tests("Core", "ConsumerGroup", ["Random", "TestSupport", "ConsumerGroup", "APNS"]),
    tests("Core", "DeviceTokens", ["Random", "DeviceTokens", "Contract", "APNS"]),
    tests(
      "Core", "Gateways",
      ["Random", "TestSupport", "ConsumerGroup", "DeviceTokens", "Gateways", "Contract", "APNS"]),
    tests("Simulation", "Simulation", ["Random", "Simulation", "TestSupport", "Gateways"]),
    tests("Core", "Diagnosis", ["APNS", "Contract", "Diagnosis", "HTTP2Engine"]),
    tests("Core", "Settings", ["Settings"]),
    tests("Core", "Access", ["Identity", "Access", "Random"]),
    tests("Core", "Schedule", ["Contract", "Identity", "Random", "Schedule"]),
    tests("Core", "Webhooks", ["Identity", "Webhooks", "ConsumerGroup", "Gateways"]),
    tests("Core", "Telemetry", ["Telemetry"]),
    tests("Core", "TokenFiles", ["APNS", "Contract", "Random", "TokenFiles"]),
    tests("Core", "HTTP1", ["Identity", "HTTP1", "Random"]),
    tests("Core", "HTTP2Engine", ["HTTP2Engine", "Random"]),
    tests("IO", "EventLoop", ["Bytes", "EventLoop"]),
    tests("IO", "TLS", ["Bytes", "TLS", "Signing"]),
    tests(
      "IO", "HTTP2",
      [
        "Bytes", "EventLoop", "TLS", "HTTP2", "HTTP2Engine", "HTTP2Server", "Signing",
        "TestSupport",
      ]),
    tests("IO", "Kafka", ["EventLoop", "Kafka", "EmbeddedKafka", "Contract", "TestSupport"]),
    tests("IO", "JSON", ["Bytes", "JSON", "Random"]),
    tests(
      "IO", "Records",
      [
        "Identity", "Bytes", "JSON", "Records", "APNS", "Contract", "Random", "Schedule",
        "TestSupport",
      ]),
    tests("IO", "Compatibility", ["Compatibility", "APNS", "JSON", "Contract", "Records"]),
    tests("IO", "HTTPServer", ["Bytes", "HTTPServer", "HTTPClient", "TestSupport"]),
    tests(
      "IO", "Store",
      ["Identity", "APNS", "Contract", "Bytes", "Schedule", "Store", "TestSupport", "DeviceTokens"]),
    tests("IO", "Signing", ["Bytes", "Signing", "TestSupport"]),
    tests(
      "Services", "ServiceKit",
      [
        "ServiceKit", "Settings", "Telemetry", "Contract", "Diagnosis", "EventLoop", "Kafka",
        "JSON", "HTTPClient", "Bytes", "Random", "TestSupport", "EmbeddedKafka", "ConsumerGroup",
        "Gateways",
      ]),
    tests(
      "Services", "Ingest",
      [
        "Ingest", "ServiceKit", "Telemetry", "Random", "APNS", "Contract", "Kafka", "JSON",
        "Records", "EventLoop",
        "Settings", "TestSupport", "EmbeddedKafka",
      ]),
    tests(
      "Services", "API",
      [
        "Identity",
        "Access", "API", "APNS", "Diagnosis", "EmbeddedKafka", "Schedule", "ServiceKit", "Kafka",
        "JSON",
        "Records", "Signing", "Store", "HTTPClient", "TLS", "EventLoop", "Bytes", "Contract",
        "Settings", "Telemetry", "TestSupport", "DeviceTokens",
      ]),
    tests(
      "Services", "Signer",
      [
        "Signer", "ServiceKit", "Telemetry", "APNS", "Diagnosis", "Contract", "Kafka", "JSON",
        "Records", "Signing", "Bytes", "EventLoop", "Settings", "TestSupport", "EmbeddedKafka",
        "Gateways",
      ]),
    tests(
      "Services", "Sender",
      [
        "Sender", "APNS", "Diagnosis", "Faults", "Contract", "Kafka", "JSON", "Records", "TLS",
        "HTTP1", "HTTP2", "HTTP2Server", "Bytes", "EventLoop", "Settings", "TestSupport",
        "GatewaySimulator",
        "ServiceKit", "EmbeddedKafka", "Signing", "Telemetry", "OperatorCommand", "HTTPClient",
        "Signer", "ConsumerGroup", "Gateways",
      ]),
    tests(
      "Services", "Feedback",
      [
        "Identity",
        "Feedback", "ServiceKit", "Telemetry", "Random", "APNS", "Contract", "Kafka", "JSON",
        "Records", "Store", "EventLoop", "Settings", "TestSupport", "EmbeddedKafka", "DeviceTokens",
        "Gateways",
      ]),
    tests(
      "Services", "Scheduler",
      [
        "Identity",
        "APNS", "Ingest", "Schedule", "Scheduler", "ServiceKit", "Telemetry", "Contract", "Kafka",
        "Records", "EventLoop", "Settings", "TestSupport", "Store", "DeviceTokens", "JSON",
        "Bytes", "Gateways",
      ]),
    tests(
      "Services", "WebhookDelivery",
      [
        "Identity",
        "WebhookDelivery", "Webhooks", "ServiceKit", "Telemetry", "Contract", "Kafka", "JSON",
        "Bytes", "EventLoop", "Settings", "Signing", "TestSupport",
      ]),
    tests(
      "Services", "CommandKit",
      [
        "CommandKit", "Bytes", "Contract", "Diagnosis", "EmbeddedKafka", "EventLoop", "Kafka",
        "ServiceKit", "Settings", "Telemetry", "TestSupport",
      ]),
    tests(
      "Services", "OperatorCommand",
      [
        "Identity",
        "CommandKit", "OperatorCommand", "APNS", "Diagnosis", "Signing", "Contract", "Kafka",
        "EventLoop",
        "GatewaySimulator", "HTTPClient", "ServiceKit", "JSON", "Records", "Bytes", "Settings",
        "TestSupport", "Telemetry", "Store", "DeviceTokens", "Schedule",
      ]),
    tests("Simulator", "Faults", ["APNS", "Faults", "Random"]),
    tests("Simulator", "GatewayModel", ["APNS", "GatewayModel", "Random"]),
    tests(
      "Simulator", "GatewaySimulator",
      [
        "GatewaySimulator", "APNS", "GatewayModel", "Faults", "Random", "JSON", "TLS", "HTTP2",
        "HTTP2Engine", "HTTP2Server", "HTTPClient", "Signing", "Bytes", "EventLoop", "ServiceKit",
        "Settings",
        "Telemetry", "TestSupport",
      ]),
    tests("Lab", "BrokerCore", ["BrokerCore"]),
    tests(
      "Lab", "Broker",
      ["Broker", "BrokerCore", "EventLoop", "Kafka", "EmbeddedKafka", "TestSupport"]),
    tests(
      "Lab", "EmbeddedKafka", ["EventLoop", "Kafka", "EmbeddedKafka", "TestSupport"]),
    tests(
      "Lab", "LabCommand",
      [
        "LabCommand", "CommandKit", "OperatorCommand", "EmbeddedKafka", "APNS", "Signing",
        "Contract", "Kafka",
        "HTTPClient", "HTTPServer", "ServiceKit", "TLS", "JSON", "Records", "Bytes", "Settings",
        "TestSupport", "Telemetry",
      ]),
    tests(
      "Chaos", "Chaos",
      [
        "ChaosSuite", "LabCommand", "APNS", "Contract", "Bytes", "JSON", "Kafka", "Records",
        "SystemTestSupport", "TestSupport", "ConsumerGroup",
      ]),
    tests(
      "System", "System",
      [
        "Bytes", "Diagnosis", "EmbeddedKafka", "EventLoop", "HTTPClient", "JSON", "Kafka",
        "Contract", "Signing",
        "SystemTestSupport", "TestSupport",
      ], exclude: ["Python"]),
    tests(
      "System", "ForeignClient",
      [
        "Bytes", "EventLoop", "HTTP2", "HTTP2Engine", "JSON", "Kafka", "Random", "Signing",
        "SystemTestSupport", "TestSupport",
      ],
      exclude: ["Python"]),
    tests(
      "System", "Documents",
      [
        "APNS", "Bytes", "EventLoop", "Feedback", "JSON", "Kafka", "Contract", "Records", "Signing",
        "Store", "SystemTestSupport", "TestSupport", "DeviceTokens",
      ], exclude: ["Python"]),
    tests(
      "System", "Deploy",
      [
        "API", "Ingest", "Signer", "Sender", "Feedback", "WebhookDelivery", "Scheduler",
        "GatewaySimulator",
        "OperatorCommand", "LabCommand", "ServiceKit", "Settings", "Telemetry", "Contract",
        "APNS", "Diagnosis", "Kafka",
        "EventLoop", "JSON", "Bytes", "TestSupport", "SystemTestSupport",
      ], exclude: ["Python"]),
    tests("Tidy", "Tidy", []),
    fuzz,
  ],
  cxxLanguageStandard: .cxx17
)

/// Leaves these targets and what they need.
@MainActor
func keepOnly(_ names: [String]) {
  var kept = Set(names)
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

/// `MARTLET_TEST_ONLY=TLS,Kafka` leaves these test targets, for builds that take long and are about a part
/// (`scripts/sanitize`).
if let only = Context.environment["MARTLET_TEST_ONLY"] {
  keepOnly(only.split(separator: ",").map { "\($0)Tests" })
}

/// `MARTLET_PROGRAMS=martlet-lab,martlet-sender` leaves these programs: `scripts/demo` first builds what it starts.
if let programs = Context.environment["MARTLET_PROGRAMS"] {
  keepOnly(programs.split(separator: ",").map(String.init))
}
